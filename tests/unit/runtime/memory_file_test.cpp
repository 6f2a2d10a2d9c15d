// Files in memory that programs write by the C library.
#include "memory_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/error.hpp"
#include "support/file_size_limit.hpp"

using namespace sluice::runtime;

namespace {

FileDescriptor file_with(std::string_view text) {
  FileDescriptor file = make_memory_file(0600);
  const SharedFile writer = reopened(file, O_WRONLY);
  REQUIRE(::write(writer->number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return file;
}

}  // namespace

TEST_CASE("a sealed file cannot be changed") {
  const FileDescriptor file = file_with("abc");
  CHECK(seal(file));
  const SharedFile writer = reopened(file, O_RDWR);
  CHECK(::write(writer->number(), "d", 1) < 0);
  CHECK(::ftruncate(writer->number(), 0) < 0);
  CHECK(::mmap(nullptr, 3, PROT_READ | PROT_WRITE, MAP_SHARED, writer->number(), 0) == MAP_FAILED);
  CHECK(file_size(file) == 3);
}

TEST_CASE("the contents of a file that others may cut are a copy, and stay when it is cut") {
  const std::string text(100'000, 'x');
  const auto is_whole = [&](const FileContents& contents) {
    const auto bytes = contents.bytes();
    return bytes.size() == text.size() &&
           std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{'x'}; });
  };
  const FileDescriptor in_memory = file_with(text);
  const SharedFile writer = reopened(in_memory, O_WRONLY);
  const FileContents of_memory(in_memory);
  REQUIRE(::ftruncate(writer->number(), 0) == 0);
  CHECK(is_whole(of_memory));

  const std::string path =
      std::filesystem::temp_directory_path() / ("sluice-cut-" + std::to_string(::getpid()));
  const FileDescriptor on_disk(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  REQUIRE(::write(on_disk.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  const FileContents of_disk(on_disk);
  REQUIRE(::truncate(path.c_str(), 1) == 0);
  CHECK(is_whole(of_disk));
  ::unlink(path.c_str());
}

TEST_CASE("the descriptor that makes a file does not count as one that can write") {
  const FileDescriptor file = make_memory_file(0600);
  CHECK_FALSE(is_open_for_writing(file));
  const SharedFile writer = reopened(file, O_WRONLY);
  CHECK(is_open_for_writing(file));
}

TEST_CASE("a file that is open or mapped for writing is not sealed") {
  const FileDescriptor file = file_with("abc");
  SharedFile writer = reopened(file, O_RDWR);
  void* const memory = ::mmap(nullptr, 3, PROT_READ | PROT_WRITE, MAP_SHARED, writer->number(), 0);
  REQUIRE(memory != MAP_FAILED);
  CHECK(!seal(file));
  CHECK(::write(writer->number(), "d", 1) == 1);
  writer.reset();
  CHECK(!seal(file));
  ::munmap(memory, 3);
  CHECK(seal(file));
}

TEST_CASE("the copy of a file has the same bytes") {
  const FileDescriptor file = file_with("abc");
  const FileDescriptor empty = make_memory_file(0600);
  CHECK(!have_same_bytes(file, empty));
  CHECK(copy_bytes(file, *reopened(empty, O_WRONLY)) == 0);
  CHECK(have_same_bytes(file, empty));
  CHECK(!have_same_bytes(file, file_with("abd")));
}

TEST_CASE("a file that another open or a mapping has, or that was sealed, is not alone") {
  const FileDescriptor file = file_with("abc");
  CHECK(is_alone(file));
  SharedFile other = reopened(file, O_RDONLY);
  CHECK_FALSE(is_alone(file));
  void* const memory = ::mmap(nullptr, 3, PROT_READ, MAP_SHARED, other->number(), 0);
  REQUIRE(memory != MAP_FAILED);
  other.reset();
  CHECK_FALSE(is_alone(file));
  ::munmap(memory, 3);
  CHECK(is_alone(file));
  seal_for_others(file);
  CHECK_FALSE(is_alone(file));
  CHECK(::write(reopened(file, O_RDWR)->number(), "d", 1) < 0);
}

TEST_CASE("a file that is sealed while somebody writes cannot be written any more") {
  const FileDescriptor file = file_with("abc");
  const SharedFile writer = reopened(file, O_RDWR);
  seal_for_others(file);
  CHECK(::write(writer->number(), "d", 1) < 0);
}

TEST_CASE("a file on disk is never sealed, nor alone") {
  const FileDescriptor file = make_file_on_disk("/tmp", 0600);
  seal_for_others(file);
  CHECK(is_sealed(file));
  CHECK_FALSE(is_alone(file));
}

TEST_CASE("a file on disk has no name left, and becomes another one") {
  const FileDescriptor file = file_with("abc");
  const FileDescriptor on_disk = make_file_on_disk("/tmp", 04040);
  CHECK((status_of(on_disk).st_mode & 07777U) == 04040);
  CHECK(status_of(on_disk).st_nlink == 0);
  REQUIRE(::ftruncate(reopened(on_disk, O_WRONLY)->number(), 4096) == 0);
  const FileDescriptor moved = become(on_disk, file);
  CHECK(have_same_bytes(moved, file));
  CHECK(status_of(moved).st_ino == status_of(on_disk).st_ino);
  CHECK((status_of(moved).st_mode & 0777U) == 0600);
  CHECK_THROWS((void)make_file_on_disk("/no/such/directory", 0600));
}

TEST_CASE("a file that cannot be written to disk leaves nothing behind, and says what to do") {
  const std::string directory = "memory_file_test.full";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  const std::string path = directory + "/a.nc", blocked = directory + "/blocked.nc";
  write_file(file_with("before"), path);
  const FileDescriptor large = file_with(std::string(10000, 'x'));
  const auto error_of = [&](const std::string& target) -> std::string {
    try {
      write_file(large, target);
    } catch (const sluice::Error& error) {
      return error.what();
    }
    return "";
  };
  {
    const sluice::test::FileSizeLimit limit(4096);
    CHECK(error_of(path) == "cannot write " + path +
                                ": File too large. Raise the limit of file sizes (ulimit -f), or write "
                                "smaller files");
  }
  std::filesystem::create_directories(blocked + "/within");
  CHECK(error_of(blocked).find("Is a directory. Move away what has the name") != std::string::npos);
  CHECK(error_of("no_such_directory/a.nc").find("See whether files can be made in no_such_directory") !=
        std::string::npos);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    left.push_back(entry.path().filename());
  std::ranges::sort(left);
  CHECK(left == std::vector<std::string>{"a.nc", "blocked.nc"});
  CHECK(std::filesystem::file_size(path) == 6);
}

TEST_CASE("a file has the permissions that it is given, and no others") {
  const FileDescriptor file = make_memory_file(01040);
  CHECK((status_of(file).st_mode & 07777U) == 01040);
  CHECK(write_range(*reopened_by_owner(file, O_WRONLY), 0, std::as_bytes(std::span("abc", 3))) == 0);
  as_owner(file, R_OK, [&] { CHECK(may_be_opened(file, O_RDONLY)); });
  CHECK((status_of(file).st_mode & 07777U) == 01040);
  CHECK(seal(file));
}
