#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "elf_file.hpp"
#include "inspection.hpp"
#include "program_lookup.hpp"

using namespace sluice::coordinator;
namespace fs = std::filesystem;

namespace {

/// An empty directory for this test only.
fs::path fresh_directory() {
  const fs::path directory = fs::current_path() / "programs";
  fs::remove_all(directory);
  fs::create_directories(directory);
  return directory;
}

fs::path write_program(const fs::path& path, const std::string& contents, mode_t mode = 0755) {
  std::ofstream(path, std::ios::binary) << contents;
  ::chmod(path.c_str(), mode);
  return path;
}

}  // namespace

TEST_CASE("a program is found as the kernel will find it") {
  const fs::path directory = fresh_directory();
  write_program(directory / "here", "#!/bin/sh\n");
  write_program(directory / "data", "x", 0644);
  fs::create_directory(directory / "folder");
  CHECK(find_program("./here", directory, "").path == directory / "here");
  CHECK(find_program("here", "/", "/nowhere:" + directory.string()).path == directory / "here");
  CHECK(find_program("sh", directory, "/usr/bin:/bin").problem.empty());
  CHECK(find_program("./none", directory, "").problem.ends_with("does not exist"));
  CHECK(find_program("./data", directory, "").problem.find("not executable") != std::string::npos);
  CHECK(find_program("./folder", directory, "").problem.ends_with("is a directory"));
  CHECK(find_program("here", directory, "/usr/bin").problem.find("write ./here") != std::string::npos);
}

TEST_CASE("this test is a dynamically linked program without PnetCDF") {
  const auto facts = read_elf_facts("/proc/self/exe");
  REQUIRE(facts);
  CHECK(facts->is_this_machine);
  CHECK_FALSE(facts->interpreter.empty());
  CHECK_FALSE(facts->needed.empty());
  CHECK_FALSE(facts->defines_pnetcdf);
}

TEST_CASE("damaged and foreign program files are reported, not believed") {
  const fs::path directory = fresh_directory();
  std::string program(1 << 16, '\0');
  std::ifstream("/proc/self/exe", std::ios::binary).read(program.data(), 1 << 16);
  for (const std::size_t length : {4u, 16u, 63u, 64u, 100u, 1000u, 65536u}) {
    CHECK_FALSE(read_elf_facts(write_program(directory / "cut", program.substr(0, length))).has_value());
  }
  std::string foreign = program;
  foreign[4] = 1;  // 32 bits
  CHECK_FALSE(
      inspect_program(write_program(directory / "foreign", foreign), {}, Coupling::writer).mistakes.empty());
  CHECK_FALSE(
      inspect_program(write_program(directory / "junk", std::string("\1\0\2", 3)), {}, Coupling::writer)
          .mistakes.empty());
  CHECK_FALSE(inspect_program(write_program(directory / "empty", ""), {}, Coupling::writer).mistakes.empty());
}

TEST_CASE("scripts are fit when their interpreter is there") {
  const fs::path directory = fresh_directory();
  const Inspection good =
      inspect_program(write_program(directory / "good", "#!/bin/sh -e\necho\n"), {}, Coupling::writer);
  CHECK(good.kind == "a script for /bin/sh");
  CHECK(good.mistakes.empty());
  CHECK(inspect_program(write_program(directory / "env", "#!/usr/bin/env python3\n"), {}, Coupling::writer)
            .kind == "a script for python3");
  CHECK(inspect_program(write_program(directory / "bad", "#!/no/such/shell\n"), {}, Coupling::writer)
            .mistakes.size() == 1);
  CHECK(inspect_program(write_program(directory / "windows", "#!/bin/sh\r\n"), {}, Coupling::writer)
            .mistakes.size() == 1);
  CHECK(inspect_program(write_program(directory / "plain", "echo hello\n"), {}, Coupling::writer)
            .notes.size() == 1);
}
