// Finds the logs in a directory: damaged or incomplete logs are reported, other files are ignored.
#include <doctest/doctest.h>

#include <cerrno>
#include <functional>
#include <set>

#include "burst_log_world.hpp"
#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/recovery.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

std::string path_of(std::int64_t rank, const std::string& suffix = ".meta") {
  return "logs/wave.nc_0_" + std::to_string(rank) + suffix;
}

void write_log(FileSystem& files, std::int64_t rank) {
  BurstLogWriter writer(files, burst_log_paths_of(path_of(rank)), log_header("/data/wave.nc", rank),
                        BurstLogWriter::Existing::refuse);
  append(writer, {0, formats::Type::int8, {{{rank}, {1}, {}}}, bytes_of({7})});
  writer.commit();
  writer.close();
}

void write_text(FileSystem& files, const std::string& path, const std::string& text) {
  files.open(path, OpenMode::create)->write(0, std::as_bytes(std::span(text)));
}

/// Three undamaged logs.
void write_logs(FileSystem& files) {
  for (const std::int64_t rank : {0, 1, 2}) write_log(files, rank);
}

/// Two logs can be read, one cannot.
void expect_two_and(const std::string& words, FileSystem& files) {
  const auto found = find_logs(files, "logs");
  REQUIRE(found.unreadable.size() == 1);
  CHECK(found.unreadable.front().path == path_of(1));
  CAPTURE(found.unreadable.front().what);
  CHECK(found.unreadable.front().what.find(words) != std::string::npos);
  REQUIRE(found.groups.size() == 1);
  CHECK(found.groups.front().logs.size() == 2);
  CHECK(found.groups.front().has_unreadable_logs);
}

}  // namespace

TEST_CASE("metadata with damaged magic is reported if its data is beside it") {
  for (std::size_t i = 0; i < 7; ++i) {
    MemoryFileSystem files;
    write_logs(files);
    files.bytes(path_of(1))[i] ^= std::byte{0x10};
    expect_two_and("does not begin with \"PnetCDF0\"", files);
  }
}

TEST_CASE("data with missing or unreadable metadata is reported") {
  MemoryFileSystem files;
  write_logs(files);
  FaultyFileSystem forbidding(files, [](const FileOperation& operation) {
    return Fault{operation.kind == FileOperation::Kind::open && operation.path == path_of(1) ? EACCES : 0};
  });
  expect_two_and("Permission denied", forbidding);
  files.remove(path_of(1));
  expect_two_and("is missing", files);
  files.bytes(path_of(1, ".data"))[0] = std::byte{0};
  write_text(files, path_of(1, ".header"), "CDF");
  expect_two_and("is missing", files);
}

TEST_CASE("files of other programs are not logs") {
  MemoryFileSystem files;
  write_logs(files);
  write_text(files, "logs/notes.meta", "not a log");
  write_text(files, "logs/model.meta", "not a log");
  write_text(files, "logs/model.data", "weights");
  write_text(files, "logs/other.data", "more weights");
  const auto found = find_logs(files, "logs");
  CHECK(found.unreadable.empty());
  REQUIRE(found.groups.size() == 1);
  CHECK(found.groups.front().logs.size() == 3);
  CHECK(found.groups.front().damage.empty());
  CHECK_FALSE(found.groups.front().has_unreadable_logs);
}

namespace {

/// Kills a process at its n-th operation on files, for all n.
void kill_everywhere(const std::function<void(FileSystem&)>& before,
                     const std::function<void(FileSystem&)>& action,
                     const std::function<void(FileSystem&)>& check) {
  for (int fatal = 1;; ++fatal) {
    CAPTURE(fatal);
    MemoryFileSystem files;
    before(files);
    int operations = 0;
    FaultyFileSystem dying(files,
                           [&](const FileOperation&) { return Fault{++operations >= fatal ? EIO : 0}; });
    bool is_done = true;
    try {
      action(dying);
    } catch (const IoError&) {
      is_done = false;
    }
    check(files);
    if (is_done) return;
  }
}

}  // namespace

TEST_CASE("a log whose removal was cut off is no damage, and the rest of it can be removed") {
  const auto make = [](FileSystem& files) {
    write_logs(files);
    write_text(files, path_of(1, ".header"), "CDF");
  };
  kill_everywhere(
      make, [](FileSystem& files) { remove_log(files, path_of(1)); },
      [](FileSystem& files) {
        CHECK(find_logs(files, "logs").unreadable.empty());
        if (!files.exists(path_of(1))) {
          finish_removals(files, "logs");
          CHECK(files.list("logs").size() == 4);
        }
      });
}

TEST_CASE("a header that was being written goes with its log") {
  MemoryFileSystem files;
  write_log(files, 1);
  write_text(files, path_of(1, ".header.partial"), "CDF");
  remove_log(files, path_of(1));
  CHECK(files.list("logs").empty());
}

TEST_CASE("a log that was being created is no damage") {
  kill_everywhere([](FileSystem&) {}, [](FileSystem& files) { write_log(files, 1); },
                  [](FileSystem& files) { CHECK(find_logs(files, "logs").unreadable.empty()); });
  // Space that was reserved and not written yet.
  MemoryFileSystem files;
  files.open(path_of(1), OpenMode::create)->resize(65536);
  write_text(files, path_of(1, ".data"), "PnetCDF0");
  CHECK(find_logs(files, "logs").unreadable.empty());
}

TEST_CASE("different numbers of processes are reported, and none is counted by the wrong one") {
  for (int bit = 0; bit < 63; ++bit) {
    CAPTURE(bit);
    MemoryFileSystem files;
    write_logs(files);
    files.bytes(path_of(2))[static_cast<std::size_t>(24 + bit / 8)] ^= static_cast<std::byte>(1 << bit % 8);
    const auto found = find_logs(files, "logs");
    REQUIRE(found.groups.size() == 1);
    const auto& group = found.groups.front();
    CHECK(group.process_count == 4);
    if (found.unreadable.empty()) {
      REQUIRE(group.damage.size() == 1);
      CHECK(group.damage.front().path == path_of(2));
    } else {
      CHECK(bit == 2);  // 4 becomes 0: then there are no entries
      CHECK(group.has_unreadable_logs);
    }
  }
}

TEST_CASE("an impossible number of processes is reported, also for a single log") {
  MemoryFileSystem files;
  write_log(files, 2);
  files.bytes(path_of(2))[29] = std::byte{1};  // 2^40 more
  const auto group = find_logs(files, "logs").groups.at(0);
  CHECK(group.damage.size() == 1);
  CHECK(group.process_count == 0);
}

TEST_CASE("a log whose rank differs from its name is reported") {
  MemoryFileSystem files;
  write_logs(files);
  files.bytes(path_of(2))[32] = std::byte{3};
  const auto group = find_logs(files, "logs").groups.at(0);
  REQUIRE(group.damage.size() == 1);
  CHECK(group.damage.front().what == "damaged: the log says rank 3, but its name says rank 2");
}
