#include "sluice/runtime/rules.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "sluice/formats/error.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

namespace fs = std::filesystem;

std::string tail(std::string_view pattern, std::string_view path) {
  return match_tail(pattern, path).value_or("(none)");
}

/// A directory for this test only, without links in its path.
struct ScratchDirectory {
  fs::path path;
  ScratchDirectory() {
    std::string name = fs::canonical(fs::temp_directory_path()) / "sluice-rules-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("names that contain one another are different files") {
  CHECK(tail("f.1", "f.1") == "f.1");
  CHECK(tail("f.1", "f.10") == "(none)");
  CHECK(tail("f.1", "xf.1") == "(none)");
  CHECK(tail("f.1", "f11") == "(none)");
  CHECK(tail("f.1", "F.1") == "(none)");
}

TEST_CASE("a pattern covers as many trailing components as it has") {
  CHECK(tail("wave_*.nc", "/scratch/run/wave_0001.nc") == "wave_0001.nc");
  CHECK(tail("out/wave_*.nc", "/scratch/run/out/wave_0001.nc") == "out/wave_0001.nc");
  CHECK(tail("out/wave_*.nc", "/scratch/run/input/wave_0001.nc") == "(none)");
  CHECK(tail("*/f.nc", "a/b/f.nc") == "b/f.nc");
  CHECK(tail("*.nc", "dir.nc/f.txt") == "(none)");
}

TEST_CASE("wildcards do not cover slashes") {
  CHECK(tail("a*f.nc", "a/f.nc") == "(none)");
  CHECK(tail("a?f.nc", "a/f.nc") == "(none)");
  CHECK(tail("a[/]f.nc", "a/f.nc") == "(none)");
}

TEST_CASE("dots, doubled slashes and file system prefixes are no part of the tail") {
  CHECK(tail("f.nc", "./f.nc") == "f.nc");
  CHECK(tail("out/f.nc", "out//f.nc") == "out/f.nc");
  CHECK(tail("./out/f.nc", "./out/./f.nc") == "out/f.nc");
  CHECK(tail("out/f.nc", "/run/out/x/../f.nc") == "out/f.nc");
  CHECK(tail("f.nc", "ufs:f.nc") == "f.nc");
  CHECK(tail("f.nc", "nfs:/home/f.nc") == "f.nc");
  CHECK(tail("f.nc", "my:f.nc") == "(none)");
}

TEST_CASE("a path shorter than its pattern is taken from the working directory") {
  const std::string here = std::filesystem::current_path().filename().string();
  CHECK(tail(here + "/f.nc", "f.nc") == here + "/f.nc");
  CHECK(tail(here + "/f.nc", "sub/../f.nc") == here + "/f.nc");
  CHECK(tail("no_such_directory/f.nc", "f.nc") == "(none)");
}

TEST_CASE("an absolute pattern covers whole paths only") {
  CHECK(tail("/a/f.nc", "/a/f.nc") == "a/f.nc");
  CHECK(tail("/a/f.nc", "/x/a/f.nc") == "(none)");
  CHECK(tail(std::filesystem::current_path().string() + "/*.nc", "f.nc") != "(none)");
}

TEST_CASE("patterns have stars, question marks and brackets") {
  CHECK(tail("*", "anything") == "anything");
  CHECK(tail("a*b*c", "aXXbYYbZc") == "aXXbYYbZc");
  CHECK(tail("a*b*c", "aXXbYYbZ") == "(none)");
  CHECK(tail("f?.nc", "f1.nc") == "f1.nc");
  CHECK(tail("f?.nc", "f.nc") == "(none)");
  CHECK(tail("f[0-9][!a].nc", "f7b.nc") == "f7b.nc");
  CHECK(tail("f[0-9][!a].nc", "f7a.nc") == "(none)");
  CHECK(tail("f[]x].nc", "f].nc") == "f].nc");
  CHECK(tail("f[", "f[") == "f[");
  CHECK(tail("", "f") == "(none)");
  CHECK(tail("f", "") == "(none)");
  CHECK(tail("***", "") == "(none)");
}

TEST_CASE("a hostile pattern takes no exponential time") {
  std::string pattern, name(2000, 'a');
  for (int i = 0; i < 500; ++i) pattern += "*a";
  CHECK(tail(pattern + "b", name) == "(none)");
}

TEST_CASE("the first rule that covers a path holds") {
  ClientEnvironment environment;
  environment.rules = {{4, "special.nc", false, true}, {7, "*.nc", true, false}};
  const auto special = find_rule(environment, "out/special.nc");
  REQUIRE(special);
  CHECK(special->key == DatasetKey{4, (fs::current_path() / "out/special.nc").string()});
  CHECK(special->rule.reads);
  CHECK(find_rule(environment, "x.nc")->key.rule == 7);
  CHECK_FALSE(find_rule(environment, "x.txt"));
}

TEST_CASE("a path leads to the same file before and after directories and files are made") {
  const ScratchDirectory scratch;
  const std::string path = scratch.path / "a/../b/./c/x.nc";
  const std::string expected = scratch.path / "b/c/x.nc";
  CHECK(resolved_path(path) == expected);
  fs::create_directories(scratch.path / "a");
  fs::create_directories(scratch.path / "b/c");
  CHECK(resolved_path(path) == expected);
  std::ofstream(expected) << "x";
  CHECK(resolved_path(path) == expected);
  CHECK(resolved_path("/") == "/");
  CHECK(resolved_path("/no-such-file.nc") == "/no-such-file.nc");
  CHECK(resolved_path("x.nc") == (fs::current_path() / "x.nc").string());
}

TEST_CASE("links are followed, to directories, to files, and to missing targets") {
  const ScratchDirectory scratch;
  fs::create_directories(scratch.path / "run/deep");
  fs::create_symlink("run/deep", scratch.path / "newest");
  fs::create_symlink("newest/x.nc", scratch.path / "first.nc");
  fs::create_symlink(scratch.path / "first.nc", scratch.path / "second.nc");
  fs::create_symlink("endless", scratch.path / "endless");
  const std::string expected = scratch.path / "run/deep/x.nc";
  const auto check = [&] {
    CHECK(resolved_path((scratch.path / "newest/x.nc").string()) == expected);
    CHECK(resolved_path((scratch.path / "newest/../deep/x.nc").string()) == expected);
    CHECK(resolved_path((scratch.path / "second.nc").string()) == expected);
    CHECK(resolved_path((scratch.path / "second.nc").string(), LastLink::stay) == scratch.path / "second.nc");
    CHECK(resolved_path((scratch.path / "newest/x.nc").string(), LastLink::stay) == expected);
  };
  const auto is_there = [&](const char* name) {
    return resolved_file((scratch.path / name).string()).is_there;
  };
  check();
  CHECK_FALSE(is_there("second.nc"));
  CHECK_FALSE(is_there("newest/x.nc"));
  std::ofstream(expected) << "x";
  check();
  CHECK(is_there("second.nc"));
  CHECK(is_there("newest/x.nc"));
  CHECK(is_there("newest/../deep/x.nc"));
  CHECK_FALSE(is_there("first.nc/x.nc"));
  CHECK_FALSE(is_there("endless"));
  CHECK(fs::path(resolved_path((scratch.path / "endless").string())).is_absolute());
  CHECK(resolved_path((scratch.path / "newest/").string()) == scratch.path / "run/deep");
  CHECK(resolved_path((scratch.path / "newest/.").string()) == scratch.path / "run/deep");
  CHECK(resolved_path((scratch.path / "newest/./none/./x.nc").string()) ==
        scratch.path / "run/deep/none/x.nc");
}

TEST_CASE("relative paths and links are taken from the directory that the process is in now") {
  const ScratchDirectory scratch;
  fs::create_directories(scratch.path / "one/out");
  fs::create_directories(scratch.path / "two");
  fs::create_symlink("../one/out", scratch.path / "two/out");
  const fs::path before = fs::current_path();
  const auto found = [](const char* path) { return fs::path(resolved_path(path)); };
  fs::current_path(scratch.path / "one");
  const fs::path one = fs::current_path();
  CHECK(found("x.nc") == one / "x.nc");
  CHECK(found("./out//x.nc") == one / "out/x.nc");
  fs::current_path(scratch.path / "two");
  CHECK(found("x.nc") == one.parent_path() / "two/x.nc");
  CHECK(found("out/x.nc") == one / "out/x.nc");
  fs::remove("out");
  CHECK(found("out/x.nc") == one.parent_path() / "two/out/x.nc");
  fs::current_path(before);
}

TEST_CASE("a rule covers a path as given, or its target; `identity` decides which file it is") {
  const ScratchDirectory scratch;
  fs::create_directories(scratch.path / "run");
  fs::create_symlink("run", scratch.path / "newest");
  const std::string file = scratch.path / "run/out.nc";
  ClientEnvironment environment;
  environment.rules = {{3, "run/out.nc", true, false}, {5, "newest/n.nc", true, false}};
  for (const char* path : {"run/out.nc", "newest/out.nc", "newest/../run/out.nc"}) {
    const auto match = find_rule(environment, (scratch.path / path).string());
    REQUIRE(match);
    CHECK(match->key == DatasetKey{3, file});
    CHECK(match->file == file);
  }
  CHECK(find_rule(environment, (scratch.path / "newest/n.nc").string())->file == scratch.path / "run/n.nc");
  CHECK_FALSE(find_rule(environment, (scratch.path / "run/n.nc").string()));
  CHECK_FALSE(find_rule(environment, (scratch.path / "out.nc").string()));
  environment.rules[0].is_by_name = true;
  const auto by_name = find_rule(environment, "ufs:" + (scratch.path / "newest/out.nc").string());
  REQUIRE(by_name);
  CHECK(by_name->key == DatasetKey{3, "run/out.nc"});
  CHECK(by_name->file == file);
}

TEST_CASE("rules survive the environment, and damage is an error that shows the line") {
  const std::vector<ClientRule> rules{
      {0, "a b*.nc", true, false},
      {1, "[x\t].nc", false, true, matcher::Through::burst_buffer},
      {12, "*", true, true, matcher::Through::memory, true},
      {13, "n", false, true, matcher::Through::file, false, true},
      {14, "e", true, false, matcher::Through::memory, true, true, 0},
      {15, "c", true, false, matcher::Through::memory, false, false, 17},
      {16, "s", false, true, matcher::Through::memory, true, true, 1, true},
      {17, "a", false, true, matcher::Through::memory, false, false, 2, true, true},
      {18, "y", true, false, matcher::Through::memory, false, false, 3, false, true, true},
      {19, "h", false, true, matcher::Through::memory, true, false, 4, true, true, true, true},
      {20, "p", false, true, matcher::Through::memory, false, false, 1, false, false, false, false, true,
       true, true}};
  ::setenv("SLUICE_SOCKET", "/run/socket", 1);
  ::setenv("SLUICE_COMPONENT", "model", 1);
  ::setenv("SLUICE_RULES", encode_rules(rules).c_str(), 1);
  const ClientEnvironment environment = read_client_environment();
  CHECK(environment.is_coupled());
  CHECK(environment.component == "model");
  REQUIRE(environment.rules.size() == 11);
  CHECK(environment.rules[1].pattern == "[x\t].nc");
  CHECK(environment.rules[1].through == matcher::Through::burst_buffer);
  CHECK_FALSE(environment.rules[1].is_drained);
  CHECK(environment.rules[2].is_drained);
  CHECK(environment.rules[2].writes);
  CHECK_FALSE(environment.rules[2].is_by_name);
  CHECK(environment.rules[3].is_by_name);
  CHECK(environment.rules[3].closes == 1);
  CHECK(environment.rules[4].closes == 0);
  CHECK(environment.rules[4].is_drained);
  CHECK(environment.rules[5].closes == 17);
  CHECK_FALSE(environment.rules[5].is_stream);
  CHECK(environment.rules[6].is_stream);
  CHECK_FALSE(environment.rules[6].may_restart);
  CHECK(environment.rules[7].is_stream);
  CHECK(environment.rules[7].may_restart);
  CHECK_FALSE(environment.rules[7].is_shown_at_sync);
  CHECK(environment.rules[8].is_shown_at_sync);
  CHECK(environment.rules[8].closes == 3);
  CHECK_FALSE(environment.rules[8].has_hyperslabs);
  CHECK(environment.rules[9].has_hyperslabs);
  CHECK(environment.rules[9].is_drained);
  CHECK_FALSE(environment.rules[9].offers_steps);
  CHECK(environment.rules[10].offers_steps);
  CHECK(environment.rules[10].is_done_anew);
  CHECK_FALSE(environment.rules[9].is_done_anew);
  CHECK(environment.rules[10].offers_reads);
  CHECK(environment.rules[6].is_by_name);
  CHECK(encode_rules(environment.rules) == encode_rules(rules));
  for (const char* damaged :
       {"x", "1\tw", "1\tw\tmemory", "a\tw\tfile\tf", "1\tq\tfile\tf", "1\tw\tfile\t", "1\tw\tf\tf",
        "-1\tw\tfile\tf", "99999999999\tw\tfile\tf", "1\twc\tmemory\tf", "1\twcx\tmemory\tf"}) {
    ::setenv("SLUICE_RULES", damaged, 1);
    CHECK_THROWS_AS((void)read_client_environment(), Error);
  }
  ::unsetenv("SLUICE_RULES");
  ::setenv("SLUICE_OTHERS", (encode_other_rules({{3, "a b*.nc"}, {4, "*.nc"}}) + "x\n5\n6\t\n").c_str(), 1);
  const ClientEnvironment with_others = read_client_environment();
  REQUIRE(with_others.others.size() == 2);
  CHECK(find_other_rule(with_others, "out/a b1.nc") == 3);
  CHECK(find_other_rule(with_others, "b.nc") == 4);
  CHECK(find_other_rule(with_others, "b.txt") == OrdinaryFile::no_rule);
  ::unsetenv("SLUICE_OTHERS");
  for (const char* damaged : {"", "x", "1", "1-", "1-2x", "-1-2", "99999999999999999999-1"}) {
    ::setenv("SLUICE_RUN", damaged, 1);
    CHECK(read_run_identity().number == 0);
  }
  ::setenv("SLUICE_RUN", encode_run_identity({~std::uint64_t{0}, 1'700'000'000'000'000'000}).c_str(), 1);
  CHECK(read_run_identity().number == ~std::uint64_t{0});
  CHECK(read_run_identity().begin_ns == 1'700'000'000'000'000'000);
  ::unsetenv("SLUICE_RUN");
  ::unsetenv("SLUICE_SOCKET");
  CHECK_FALSE(read_client_environment().is_coupled());
}
