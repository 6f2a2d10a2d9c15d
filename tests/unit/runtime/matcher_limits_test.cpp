// A matcher that cannot spill, or that has no free descriptor.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>

#include "live_matcher.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

constexpr Shape large{1024, 1024};  // four times the memory
constexpr Shape small{2, 2};
/// No process can make files there.
constexpr const char* unusable = "/proc";

/// Sets TMPDIR of the matchers that a test starts.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& directory) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", directory.c_str(), 1);
  }
  ~TemporaryDirectory() { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

 private:
  std::string before_;
};

std::vector<ComponentSize> sizes() {
  return {{"model", 1}, {"analysis", 1}};
}

}  // namespace

TEST_SUITE("the limits of a matcher") {
  TEST_CASE("a node that cannot use the default directory spills to its TMPDIR, and says so") {
    const std::string here = std::filesystem::current_path().string();
    const TemporaryDirectory temporary(here);
    LiveMatcher matcher(one_rule(), mib, sizes(), {unusable, true});
    CHECK(matcher.has_event("spills data to " + here + " instead: "));
    CHECK(matcher.has_event(unusable));
    const auto model = matcher.session("model");
    write_file(*model, "large.nc", large, 3);
    CHECK(matcher.view().nodes.at(0).spilled_bytes > 0);
  }

  TEST_CASE("a node that can use neither spills nowhere: a put that is too large fails, and no other") {
    const TemporaryDirectory temporary("/no/such/directory");
    LiveMatcher matcher(one_rule(), mib, sizes(), {unusable, true});
    CHECK(matcher.has_event("cannot spill data to disk: "));
    CHECK(matcher.has_event("/no/such/directory"));
    const auto model = matcher.session("model");
    CHECK(status_of([&] { write_file(*model, "large.nc", large, 3); }) == NC_ENO_SPACE);
    write_file(*model, "small.nc", small, 4);
    const auto reader = matcher.session("analysis");
    CHECK(read_file(*reader, "small.nc", small) == std::vector<std::int32_t>(4, 4));
  }

  TEST_CASE("a directory that the user has named is not exchanged for another") {
    const TemporaryDirectory temporary(std::filesystem::current_path().string());
    CHECK_THROWS_AS(LiveMatcher(one_rule(), mib, sizes(), {unusable, false}), Error);
  }

  TEST_CASE("a process whose connection gets no descriptor is told so, and others are served") {
    LiveMatcher matcher(one_rule());
    const auto model = matcher.session("model");
    write_file(*model, "before.nc", small, 1);
    const auto reader = matcher.session("analysis");
    CHECK(read_file(*reader, "before.nc", small) == std::vector<std::int32_t>(4, 1));
    const auto second = matcher.session("analysis");
    second->connect();
    rlimit before{};
    REQUIRE(::prlimit(matcher.process(), RLIMIT_NOFILE, nullptr, &before) == 0);
    const std::filesystem::path descriptors = "/proc/" + std::to_string(matcher.process()) + "/fd";
    rlim_t highest = 0;
    for (const auto& entry : std::filesystem::directory_iterator(descriptors))
      highest = std::max<rlim_t>(highest, std::stoul(entry.path().filename().string()));
    const rlimit few{highest + 1, before.rlim_max};
    REQUIRE(::prlimit(matcher.process(), RLIMIT_NOFILE, &few, nullptr) == 0);
    std::vector<std::unique_ptr<Session>> others;  // until no descriptor below the limit is free
    int status = NC_NOERR;
    std::string text;
    while (status == NC_NOERR && others.size() <= highest) {
      others.push_back(matcher.session("model"));
      try {
        others.back()->connect();
      } catch (const Error& error) {
        status = error.status();
        text = error.what();
      }
    }
    CHECK(status == NC_ENFILE);
    CHECK(text.find("no file descriptor left for another connection") != std::string::npos);
    CHECK(matcher.has_event("a connection cannot be accepted now"));
    // Messages to this client need no further descriptors.
    CHECK(read_file(*reader, "before.nc", small) == std::vector<std::int32_t>(4, 1));
    // A process that is connected gets files that it has not had.
    CHECK(read_file(*second, "before.nc", small) == std::vector<std::int32_t>(4, 1));
    others.clear();
    matcher.settle();
    REQUIRE(::prlimit(matcher.process(), RLIMIT_NOFILE, &before, nullptr) == 0);
    const auto late = matcher.session("model");
    write_file(*late, "after.nc", small, 3);
  }
}
