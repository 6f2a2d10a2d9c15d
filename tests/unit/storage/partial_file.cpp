// Files that get their name when they are complete.
#include "sluice/storage/partial_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/posix_file_system.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(FileSystem& files, const std::string& path) {
  const auto file = files.open(path, OpenMode::read);
  std::string text(static_cast<std::size_t>(file->size_bytes()), '?');
  read_exactly(*file, 0, std::as_writable_bytes(std::span(text)));
  return text;
}

mode_t mode_of(const std::string& path) {
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777;
}

/// A directory that is removed at the end of a test.
struct Scratch {
  std::string path = std::filesystem::absolute("partial." + std::to_string(::getpid())).string();
  Scratch() { std::filesystem::create_directory(path); }
  ~Scratch() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("two that write the same file at once have one each, and the last one stays, whole") {
  const Scratch scratch;
  MemoryFileSystem memory;
  PosixFileSystem posix;
  for (FileSystem* files : {static_cast<FileSystem*>(&memory), static_cast<FileSystem*>(&posix)}) {
    const std::string target = scratch.path + "/a.nc";
    PartialFile first(*files, target);
    PartialFile second(*files, target);
    CHECK(first.path() == scratch.path + "/.a.nc.sluice-partial");
    CHECK(second.path() == scratch.path + "/.a.nc.2.sluice-partial");
    first.file().write(0, bytes_of("first"));
    second.file().write(0, bytes_of("second"));
    CHECK_FALSE(files->exists(target));
    second.publish();
    CHECK(text_of(*files, target) == "second");
    first.publish();
    CHECK(text_of(*files, target) == "first");
    CHECK(files->list(scratch.path) == std::vector<std::string>{"a.nc"});
  }
}

TEST_CASE("an unpublished file is removed; one that a killed process left is removed by the next") {
  const Scratch scratch;
  PosixFileSystem files;
  const std::string target = scratch.path + "/a.nc";
  { PartialFile given_up(files, target); }
  CHECK(files.list(scratch.path).empty());
  for (const char* name : {"/.a.nc.sluice-partial", "/.a.nc.2.sluice-partial", "/.a.nc.3.sluice-partial",
                           "/.b.nc.sluice-partial"})
    files.open(scratch.path + name, OpenMode::create)->write(0, bytes_of("a rest"));
  const auto in_use = files.open(scratch.path + "/.a.nc.2.sluice-partial", OpenMode::update);
  REQUIRE(in_use->try_lock());
  PartialFile file(files, target);
  CHECK(file.path() == scratch.path + "/.a.nc.sluice-partial");
  CHECK(file.file().size_bytes() == 0);
  CHECK(files.list(scratch.path) ==
        std::vector<std::string>{".a.nc.2.sluice-partial", ".a.nc.sluice-partial", ".b.nc.sluice-partial"});
}

TEST_CASE("files of another user are neither used nor removed") {
  MemoryFileSystem files;
  files.act_as(7);
  files.open("d/.a.nc.sluice-partial", OpenMode::create)->write(0, bytes_of("another's"));
  files.act_as(8);
  PartialFile file(files, "d/a.nc");
  CHECK(file.path() == "d/.a.nc.2.sluice-partial");
  file.publish();
  CHECK(files.owner_of("d/a.nc") == 8);
  CHECK(files.bytes("d/.a.nc.sluice-partial").size() == 9);
}

TEST_CASE("a link at the name is not followed") {
  const Scratch scratch;
  PosixFileSystem files;
  files.open(scratch.path + "/victim", OpenMode::create)->write(0, bytes_of("text"));
  std::filesystem::create_symlink(scratch.path + "/victim", scratch.path + "/.a.nc.sluice-partial");
  {
    PartialFile file(files, scratch.path + "/a.nc");
    file.file().write(0, bytes_of("other"));
    file.publish();
  }
  CHECK(text_of(files, scratch.path + "/victim") == "text");
  CHECK(text_of(files, scratch.path + "/a.nc") == "other");
}

TEST_CASE(
    "nobody else can read it before it is complete; then it has the permissions of any new file, or its "
    "predecessor's") {
  const Scratch scratch;
  PosixFileSystem files;
  const std::string target = scratch.path + "/a.nc";
  const mode_t mask = ::umask(027);
  for (const mode_t expected : {mode_t{0640}, mode_t{0604}}) {
    PartialFile file(files, target);
    CHECK(mode_of(file.path()) == 0600);
    file.publish();
    CHECK(mode_of(target) == expected);
    REQUIRE(::chmod(target.c_str(), 0604) == 0);
  }
  ::umask(mask);
}
