// Logs of a workflow's steps become files.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/burst_log_entries.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/recovery.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

constexpr std::int64_t columns = 3;

/// rows(record, 3) of shorts, flags(3) of bytes.
formats::Header dataset_header() {
  formats::Header header;
  header.add_dimension({"record", 0, true});
  header.add_dimension({"column", columns, false});
  formats::Variable rows;
  rows.name = "rows";
  rows.type = formats::Type::int16;
  rows.dimids = {0, 1};
  header.add_variable(rows);
  formats::Variable flags;
  flags.name = "flags";
  flags.type = formats::Type::int8;
  flags.dimids = {1};
  header.add_variable(flags);
  formats::compute_layout(header, {}, nullptr);
  return header;
}

/// What StepLog writes, row by row.
class Log {
 public:
  Log(FileSystem& files, const std::string& base, std::int64_t rank, formats::BurstLogStep step,
      const std::string& netcdf_path = "d/a.nc")
      : files_(files), base_(base), data_(files.open(base + ".data", OpenMode::create)) {
    formats::BurstLogHeader header;
    header.is_external = false;
    header.process_count = 2;
    header.rank = rank;
    header.path = netcdf_path;
    header.processor = "node";
    header.step = step;
    data_->write(0, std::as_bytes(std::span(formats::burst_log_magic)));
    entries_ = std::make_unique<BurstLogEntries>(files.open(base + ".meta", OpenMode::create), header);
    files.open(base + ".header", OpenMode::create)->write(0, formats::encode_header(dataset_header()));
  }
  void put_row(std::int64_t record, std::int16_t value) { put_row_at(clock_ + 1, record, value); }
  void put_row_at(std::int64_t clock, std::int64_t record, std::int16_t value) {
    clock_ = clock;
    const std::vector<std::int16_t> row(columns, value);
    data_->write(end_, std::as_bytes(std::span(row)));
    const std::array<std::int64_t, 2> start{record, 0};
    const std::array<std::int64_t, 2> count{1, columns};
    const formats::HyperslabView slab{start, count, {}};
    entries_->add({formats::Type::int16, 0, std::span(&slab, 1), end_, 2 * columns, clock});
    entries_->commit();
    end_ += 64;  // with a gap, as log offsets have
  }
  void close() {
    data_->close();
    entries_->close();
  }

 private:
  FileSystem& files_;
  std::string base_;
  std::unique_ptr<File> data_;
  std::unique_ptr<BurstLogEntries> entries_;
  std::int64_t end_ = 4096;
  std::int64_t clock_ = 0;
};

/// The first value of each record, -1 for the fill value of shorts.
std::vector<int> rows_of(FileSystem& files, const std::string& path = "d/a.nc") {
  const auto file = files.open(path, OpenMode::read);
  const auto decoded = read_header(*file).decoded;
  const auto layout = formats::layout_of(decoded.header, decoded.size_bytes);
  std::vector<int> rows;
  for (std::int64_t record = 0; record < decoded.header.record_count; ++record) {
    std::array<std::byte, 2> bytes{};
    read_exactly(*file, decoded.header.variable(0).begin + record * layout.record_size, bytes);
    const int value =
        static_cast<std::int16_t>(std::to_integer<int>(bytes[0]) << 8 | std::to_integer<int>(bytes[1]));
    rows.push_back(value == -32767 ? -1 : value);
  }
  return rows;
}

Recovery recover_all(FileSystem& files) {
  const auto found = find_logs(files, "d");
  CHECK(found.unreadable.empty());
  REQUIRE(found.groups.size() == 1);
  return recover_file(files, found.groups.front(), found.groups.front().netcdf_path);
}

}  // namespace

TEST_CASE("the logs of a step become a file, fill values where nobody put anything, twice the same") {
  MemoryFileSystem files;
  for (const std::int64_t rank : {0, 1}) {
    Log log(files, "d/a.nc_1_" + std::to_string(rank), rank, {5, 5});
    log.put_row(4 * rank, static_cast<std::int16_t>(10 + rank));
    log.close();
  }
  const auto recovery = recover_all(files);
  CHECK(recovery.is_new_file);
  CHECK(recovery.replay.puts == 2);
  CHECK(rows_of(files) == std::vector<int>{10, -1, -1, -1, 11});
  CHECK_FALSE(files.exists("d/a.nc.partial"));
  const auto header = read_header(*files.open("d/a.nc", OpenMode::read)).decoded.header;
  std::array<std::byte, 1> flag{};
  read_exactly(*files.open("d/a.nc", OpenMode::read), header.variable(1).begin, flag);
  CHECK(std::to_integer<std::int8_t>(flag[0]) == -127);
  const auto before = files.bytes("d/a.nc");
  (void)recover_all(files);
  CHECK(files.bytes("d/a.nc") == before);
}

TEST_CASE("later steps of a dataset win over earlier ones, whichever rank wrote them") {
  MemoryFileSystem files;
  Log first(files, "d/a.nc_1_1", 1, {5, 5});
  first.put_row(0, 1);
  first.put_row(1, 2);
  first.close();
  Log second(files, "d/a.nc_2_0", 0, {7, 5});
  second.put_row(1, 3);
  second.close();
  CHECK(recover_all(files).replay.puts == 3);
  CHECK(rows_of(files) == std::vector<int>{1, 3});
}

TEST_CASE("of a dataset that was created again, the later one is what remains") {
  MemoryFileSystem files;
  Log first(files, "d/a.nc_1_0", 0, {5, 5});
  first.put_row(3, 1);
  first.close();
  Log second(files, "d/a.nc_2_0", 0, {6, 6});
  second.put_row(0, 2);
  second.close();
  const auto found = find_logs(files, "d");
  REQUIRE(found.groups.size() == 2);
  for (const auto& group : found.groups) (void)recover_file(files, group, group.netcdf_path);
  CHECK(rows_of(files) == std::vector<int>{2});
}

TEST_CASE(
    "of what several processes put into the same elements the later put wins, however little memory there "
    "is") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const std::int64_t memory_bytes : {1, 100, 1 << 20}) {
    CAPTURE(memory_bytes);
    MemoryFileSystem files;
    std::vector<std::unique_ptr<Log>> logs;
    for (const std::int64_t rank : {0, 1})
      logs.push_back(std::make_unique<Log>(files, "d/a.nc_1_" + std::to_string(rank), rank,
                                           formats::BurstLogStep{5, 5}));
    std::vector<int> expected(8, -1);
    for (int time = 1; time <= 300; ++time) {
      // Long runs of one process, and turns of all.
      const auto rank = time % 100 < 50 ? random() % 2 : static_cast<unsigned>(time / 100) % 2;
      const auto record = time == 1 ? expected.size() - 1 : random() % expected.size();
      logs[rank]->put_row_at(10 * time, static_cast<std::int64_t>(record), static_cast<std::int16_t>(time));
      expected[record] = time;
    }
    for (const auto& log : logs) log->close();
    const auto found = find_logs(files, "d");
    REQUIRE(found.unreadable.empty());
    REQUIRE(found.groups.size() == 1);
    ReplayOptions options;
    options.memory_bytes = memory_bytes;
    CHECK(recover_file(files, found.groups.front(), "d/a.nc", options).replay.puts == 300);
    CHECK(rows_of(files) == expected);
  }
}

TEST_CASE("what one process has put later wins, whatever its clock says") {
  MemoryFileSystem files;
  Log log(files, "d/a.nc_1_0", 0, {5, 5});
  log.put_row_at(7, 0, 1);
  log.put_row_at(5, 0, 2);
  log.close();
  (void)recover_all(files);
  CHECK(rows_of(files) == std::vector<int>{2});
}

TEST_CASE("logs without a header beside them are refused, and nothing is written") {
  MemoryFileSystem files;
  Log log(files, "d/a.nc_1_0", 0, {5, 5});
  log.put_row(0, 1);
  log.close();
  files.remove("d/a.nc_1_0.header");
  CHECK_THROWS_AS((void)recover_all(files), Error);
  CHECK_FALSE(files.exists("d/a.nc"));
}

TEST_CASE("cut at any byte, a log gives all puts that are complete, and names the torn one") {
  MemoryFileSystem files;
  Log log(files, "d/a.nc_1_0", 0, {5, 5});
  for (std::int16_t i = 0; i < 4; ++i) log.put_row(i, static_cast<std::int16_t>(i + 1));
  log.close();
  const auto metadata = files.bytes("d/a.nc_1_0.meta");
  const auto data = files.bytes("d/a.nc_1_0.data");
  const auto entry_begin = static_cast<std::size_t>(
      formats::decode_burst_log_header(metadata, std::ssize(metadata), "log")->entry_begin);
  const std::size_t entry_bytes = (metadata.size() - entry_begin) / 4;
  const auto expected = [](std::size_t puts) {
    std::vector<int> rows;
    for (std::size_t i = 0; i < puts; ++i) rows.push_back(static_cast<int>(i + 1));
    return rows;
  };
  for (std::size_t cut = entry_begin; cut <= metadata.size(); ++cut) {
    CAPTURE(cut);
    files.bytes("d/a.nc_1_0.meta")
        .assign(metadata.begin(), metadata.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto recovery = recover_all(files);
    const std::size_t whole = (cut - entry_begin) / entry_bytes;
    REQUIRE(rows_of(files) == expected(whole));
    CHECK(recovery.problems.empty() == (whole == 4));
  }
  for (std::size_t cut = 0; cut < entry_begin; ++cut) {
    CAPTURE(cut);
    files.bytes("d/a.nc_1_0.meta")
        .assign(metadata.begin(), metadata.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto found = find_logs(files, "d");
    CHECK(found.unreadable.size() == 1);
    CHECK(found.groups.empty());
  }
  files.bytes("d/a.nc_1_0.meta") = metadata;
  for (std::size_t cut = 4090; cut <= data.size(); ++cut) {
    CAPTURE(cut);
    files.bytes("d/a.nc_1_0.data").assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(cut));
    std::size_t whole = 0;
    while (whole < 4 && cut >= 4096 + 64 * whole + 6) ++whole;
    const auto recovery = recover_all(files);
    REQUIRE(rows_of(files) == expected(whole));
    CHECK(recovery.problems.size() == 4 - whole);
  }
}

TEST_CASE(
    "an older file gives way; a newer one of the same header is what another node's logs were brought to") {
  const std::string directory =
      std::filesystem::absolute("step_recovery." + std::to_string(::getpid())).string();
  for (const char* node : {"", "/a", "/b"}) std::filesystem::create_directory(directory + node);
  PosixFileSystem files;
  const std::string target = directory + "/a.nc";
  const auto recover = [&](const std::string& node) {
    const auto found = find_logs(files, directory + node);
    REQUIRE(found.groups.size() == 1);
    return recover_file(files, found.groups.front(), target);
  };
  // The file of an earlier run.
  Log old(files, directory + "/old_1_0", 0, {1, 1}, target);
  old.put_row(7, 9);
  old.close();
  (void)recover("");
  REQUIRE(rows_of(files, target).size() == 8);
  for (const char* suffix : {".meta", ".data", ".header"}) files.remove(directory + "/old_1_0" + suffix);
  const auto long_ago = std::filesystem::last_write_time(target) - std::chrono::hours(1);
  std::filesystem::last_write_time(target, long_ago);

  for (const std::int64_t rank : {0, 1}) {
    Log log(files, directory + (rank == 0 ? "/a" : "/b") + "/a.nc_1_" + std::to_string(rank), rank, {5, 5},
            target);
    log.put_row(2 * rank, static_cast<std::int16_t>(rank + 1));
    log.close();
    std::filesystem::last_write_time(directory + (rank == 0 ? "/a/a.nc_1_0.header" : "/b/a.nc_1_1.header"),
                                     long_ago + std::chrono::minutes(1));
  }
  CHECK(recover("/a").is_new_file);
  CHECK(rows_of(files, target) == std::vector<int>{1});
  CHECK_FALSE(recover("/b").is_new_file);
  CHECK(rows_of(files, target) == std::vector<int>{1, -1, 2});
  CHECK_FALSE(recover("/a").is_new_file);
  CHECK(rows_of(files, target) == std::vector<int>{1, -1, 2});
  std::filesystem::remove_all(directory);
}
