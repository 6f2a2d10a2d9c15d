// All file systems behave alike, and the faulty one fails when told.
#include "sluice/storage/file_system.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/posix_file_system.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(File& file, std::int64_t offset, std::size_t size) {
  std::string text(size, '?');
  text.resize(file.read(offset, std::as_writable_bytes(std::span(text))));
  return text;
}

template <class Action>
int status_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.status();
  }
  return NC_NOERR;
}

/// A directory that is removed at the end of a test.
struct Scratch {
  std::string path = "files." + std::to_string(::getpid());
  Scratch() { std::filesystem::create_directory(path); }
  ~Scratch() { std::filesystem::remove_all(path); }
};

/// `from` has three bytes.
void check_copy(FileSystem& files, const File& from, const std::string& directory) {
  const auto path = directory + "/copy";
  const auto to = files.open(path, OpenMode::create);
  CHECK(to->copy(from, {0, 3}, 5) == 3);
  CHECK(text_of(*to, 0, 10) == std::string("\0\0\0\0\0\0\0c", 8));
  CHECK(to->copy(from, {2, 100}, 1) == 1);
  CHECK(to->copy(from, {3, 100}, 1) == 0);
  CHECK(to->copy(from, {2, 2}, 1) == 0);
  CHECK(text_of(*to, 0, 10) == std::string("\0c\0\0\0\0\0c", 8));
  // From another file system, in several pieces.
  MemoryFileSystem memory;
  const auto large = memory.open("large", OpenMode::create);
  large->write(0, bytes_of(std::string(3'000'000, 'x') + "y"));
  CHECK(to->copy(*large, {1'000'000, 9'000'000}, 2) == 2'000'001);
  CHECK(to->size_bytes() == 2'000'003);
  CHECK(text_of(*to, 1'999'999, 10) == "xxxy");
  files.remove(path);
}

void check_file(FileSystem& files, const std::string& directory) {
  const auto path = directory + "/a";
  CHECK(status_of([&] { (void)files.open(path, OpenMode::read); }) == NC_ENOENT);
  CHECK(status_of([&] { (void)files.open(path, OpenMode::update); }) == NC_ENOENT);
  const auto file = files.open(path, OpenMode::create_new);
  CHECK(status_of([&] { (void)files.open(path, OpenMode::create_new); }) == NC_EEXIST);
  file->write(2, bytes_of("cd"));
  CHECK(file->size_bytes() == 4);
  CHECK(text_of(*file, 0, 10) == std::string("\0\0cd", 4));
  CHECK(text_of(*file, 4, 1).empty());
  CHECK(text_of(*file, 100, 1).empty());
  std::array<std::byte, 3> three{};
  CHECK_THROWS_WITH(read_exactly(*file, 2, three),
                    (path + ": at byte 4: the file ends here, 1 bytes too early").c_str());
  file->reserve(10);
  CHECK(file->size_bytes() == 10);
  file->reserve(5);
  CHECK(file->size_bytes() == 10);
  file->resize(3);
  CHECK(text_of(*file, 0, 10) == std::string("\0\0c", 3));
  file->begin_sync({0, 3});
  file->sync();
  file->close();
  CHECK(text_of(*files.open(path, OpenMode::update), 2, 1) == "c");
  check_copy(files, *files.open(path, OpenMode::read), directory);
}

void check_directory(FileSystem& files, const std::string& directory) {
  const auto a = directory + "/a";
  const auto b = directory + "/b";
  files.open(b, OpenMode::create)->write(0, bytes_of("b"));
  CHECK(files.list(directory) == std::vector<std::string>{"a", "b"});
  files.rename(a, b);
  files.sync_directory(directory);
  CHECK_FALSE(files.exists(a));
  CHECK(files.exists(b));
  CHECK(files.open(b, OpenMode::read)->size_bytes() == 3);
  CHECK(files.open(b, OpenMode::create)->size_bytes() == 0);
  files.remove(b);
  CHECK_FALSE(files.exists(b));
  CHECK(status_of([&] { files.remove(b); }) == NC_ENOENT);
  CHECK(status_of([&] { files.rename(b, a); }) == NC_ENOENT);
  CHECK(files.list(directory).empty());
}

}  // namespace

TEST_CASE("files of the system keep their contents, and missing files are reported") {
  const Scratch scratch;
  PosixFileSystem files;
  check_file(files, scratch.path);
  check_directory(files, scratch.path);
}

TEST_CASE("room that is taken can be written through memory, where the file system keeps it") {
  const Scratch scratch;
  PosixFileSystem files;
  const auto path = scratch.path + "/mapped";
  const auto file = files.open(path, OpenMode::create);
  file->write(0, bytes_of("abc"));
  const auto view = file->map(10000);
  if (view.empty()) return;  // not supported here
  CHECK(view.size() == 10000);
  CHECK(file->size_bytes() == 10000);
  CHECK(view[2] == std::byte{'c'});
  view[9999] = std::byte{'z'};
  CHECK(text_of(*file, 9999, 5) == "z");
  const auto larger = file->map(20000);
  REQUIRE(larger.size() == 20000);
  CHECK(larger[9999] == std::byte{'z'});
  CHECK(file->map(std::int64_t{1} << 60).empty());  // more than the address space
  CHECK(file->map(0).empty());
  file->resize(3);
  CHECK(text_of(*file, 0, 5) == "abc");
  MemoryFileSystem memory;
  CHECK(memory.open("x", OpenMode::create)->map(100).empty());
}

TEST_CASE("a lock keeps others away for as long as the file is open") {
  const Scratch scratch;
  PosixFileSystem files;
  const auto path = scratch.path + "/locked";
  auto writer = files.open(path, OpenMode::create);
  CHECK(writer->try_lock());
  CHECK(writer->try_lock());
  CHECK_FALSE(files.open(path, OpenMode::read)->try_lock());
  CHECK_FALSE(files.open(path, OpenMode::update)->try_lock());
  writer.reset();
  const auto reader = files.open(path, OpenMode::read);
  CHECK(reader->try_lock());
  CHECK(files.open(path, OpenMode::read)->try_lock());
  CHECK_FALSE(files.open(path, OpenMode::update)->try_lock());
}

TEST_CASE("files in memory behave as those of the system") {
  MemoryFileSystem files;
  check_file(files, "anywhere");
  check_directory(files, "anywhere");
}

TEST_CASE("a faulty file system without faults behaves as the one below it") {
  MemoryFileSystem memory;
  FaultyFileSystem files(memory, [](const FileOperation&) { return Fault{}; });
  check_file(files, "anywhere");
  check_directory(files, "anywhere");
}

TEST_CASE("a full disk tears the write that does not fit") {
  MemoryFileSystem memory;
  FaultyFileSystem files(memory, [](const FileOperation& operation) {
    constexpr std::int64_t room = 5;
    if (operation.kind != FileOperation::Kind::write) return Fault{};
    const bool fits = operation.offset_bytes + operation.bytes <= room;
    return fits ? Fault{} : Fault{ENOSPC, room - operation.offset_bytes};
  });
  const auto file = files.open("f", OpenMode::create);
  file->write(0, bytes_of("abc"));
  CHECK(status_of([&] { file->write(3, bytes_of("defg")); }) == NC_ENO_SPACE);
  CHECK(text_of(*file, 0, 10) == "abcde");
}

TEST_CASE("a file that is removed lives on where it is open") {
  MemoryFileSystem memory;
  const auto file = memory.open("f", OpenMode::create);
  memory.remove("f");
  file->write(0, bytes_of("x"));
  CHECK(text_of(*file, 0, 1) == "x");
}

TEST_CASE("paths are split into directory and name") {
  CHECK(directory_of("a/b/c") == "a/b");
  CHECK(name_of("a/b/c") == "c");
  CHECK(directory_of("c") == ".");
  CHECK(name_of("c") == "c");
  CHECK(directory_of("/c") == "/");
}
