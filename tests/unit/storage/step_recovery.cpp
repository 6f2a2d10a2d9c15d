// Recovers files from the logs of a workflow's steps.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/burst_log_entries.hpp"
#include "sluice/storage/burst_log_writer.hpp"
#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/file_mark.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/log_header.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/recovery.hpp"
#include "support/seed.hpp"

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

/// Writes rows as StepBurstLog does.
class Log {
 public:
  Log(FileSystem& files, const std::string& base, std::int64_t rank, formats::BurstLogStep step,
      const std::string& netcdf_path = "d/a.nc",
      std::optional<formats::BurstLogIdentity> identity = formats::BurstLogIdentity{11, 1000, 1})
      : files_(files), base_(base), data_(files.open(base + ".data", OpenMode::create)) {
    formats::BurstLogHeader header;
    header.is_external = false;
    header.process_count = 8;
    header.rank = rank;
    header.path = netcdf_path;
    header.processor = "node";
    header.step = step;
    header.identity = identity;
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
    end_ += 64;  // with a gap, as log offsets may have
  }
  /// The same process continues the log in a later step. With `columns_name`, it renames a dimension, which
  /// changes the header.
  void go_on(std::int64_t step, const std::string& columns_name = {}) {
    if (!columns_name.empty()) {
      auto header = dataset_header();
      header.rename_dimension(1, columns_name);
      LogHeader file(files_, base_ + ".header");
      header_begin_ = file.append(header);
    }
    entries_->begin_step({step, header_begin_});
    entries_->commit();
  }
  /// The process has closed this step and all before.
  void mark_closed(std::int64_t step) { (void)data_->set_mark(closed_log_mark(step)); }
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
  std::int64_t header_begin_ = 0;
};

/// The first value of each record; -1 for the fill value of shorts.
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

using Unchanged = Recovery::Unchanged;

/// A directory that is removed at the end of a test.
struct Scratch {
  std::string path = std::filesystem::absolute("step_recovery." + std::to_string(::getpid())).string();
  Scratch() { std::filesystem::create_directory(path); }
  ~Scratch() { std::filesystem::remove_all(path); }
};

Recovery recover_all(FileSystem& files) {
  const auto found = find_logs(files, "d");
  CHECK(found.unreadable.empty());
  REQUIRE(found.groups.size() == 1);
  return recover_file(files, found.groups.front(), found.groups.front().netcdf_path);
}

}  // namespace

TEST_CASE("the logs of a step become a file with fill values for unwritten elements, twice the same") {
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
  CHECK_FALSE(files.exists("d/.a.nc.sluice-partial"));
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

TEST_CASE(
    "of a dataset that was created again, the later one is what remains, whatever the times of files say") {
  MemoryFileSystem memory;
  PosixFileSystem posix;
  const Scratch scratch;
  for (FileSystem* files : {static_cast<FileSystem*>(&memory), static_cast<FileSystem*>(&posix)}) {
    const std::string target = scratch.path + "/a.nc";
    Log first(*files, scratch.path + "/a.nc_1_0", 0, {5, 5}, target);
    first.put_row(3, 1);
    first.close();
    Log second(*files, scratch.path + "/a.nc_2_0", 0, {6, 6}, target);
    second.put_row(0, 2);
    second.close();
    for (const bool is_repeated : {false, true}) {
      const auto found = find_logs(*files, scratch.path);
      REQUIRE(found.groups.size() == 2);
      const auto of_first = recover_file(*files, found.groups[0], target);
      CHECK((of_first.unchanged == Unchanged::is_of_later_step) == is_repeated);
      if (!is_repeated && files == &posix) {
        // Newer than all logs, which proves nothing.
        std::filesystem::last_write_time(
            target, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
      }
      const auto of_second = recover_file(*files, found.groups[1], target);
      CHECK((of_second.unchanged == Unchanged::has_all_already) == is_repeated);
      CHECK(rows_of(*files, target) == std::vector<int>{2});
    }
    CHECK(files->owner_of(target + ".before-recovery") == std::nullopt);
  }
}

TEST_CASE("a later run's file is not mixed with an earlier run's logs, nor replaced by them") {
  MemoryFileSystem files;
  const formats::BurstLogIdentity earlier{22, 1000, 1};
  const formats::BurstLogIdentity later{11, 2000, 2};
  const auto write = [&](const std::string& base, std::int64_t rank, const formats::BurstLogIdentity& run) {
    Log log(files, base, rank, {5, 5}, "d/a.nc", run);
    log.put_row(rank, static_cast<std::int16_t>(run.created_ns));
    log.close();
  };
  SUBCASE("in one directory") {
    for (const std::int64_t rank : {0, 1}) write("d/a.nc_later_" + std::to_string(rank), rank, later);
    for (const std::int64_t rank : {2, 3}) write("d/a.nc_earlier_" + std::to_string(rank), rank, earlier);
    const auto found = find_logs(files, "d");
    REQUIRE(found.groups.size() == 2);
    for (const auto& group : found.groups) (void)recover_file(files, group, "d/a.nc");
    CHECK(rows_of(files) == std::vector<int>{2000, 2000});
  }
  SUBCASE("on two nodes, which are recovered one after the other") {
    for (const std::int64_t rank : {0, 1}) write("a/a.nc_1_" + std::to_string(rank), rank, later);
    for (const std::int64_t rank : {2, 3}) write("b/a.nc_1_" + std::to_string(rank), rank, earlier);
    CHECK(recover_file(files, find_logs(files, "a").groups.at(0), "d/a.nc").is_new_file);
    const auto group = find_logs(files, "b").groups.at(0);
    const auto recovery = recover_file(files, group, "d/a.nc");
    CHECK(recovery.unchanged == Unchanged::is_of_later_run);
    CHECK(recovery.later_begin_ns == 2000);
    CHECK(rows_of(files) == std::vector<int>{2000, 2000});
    CHECK(recover_file(files, group, "d/a.nc", {}, FileMarks::ignored).is_new_file);
    CHECK(rows_of(files) == std::vector<int>{-1, -1, 1000, 1000});
  }
}

TEST_CASE("recovery knows what a drain has written, and adds a later step to it") {
  MemoryFileSystem files;
  const auto put = [&](std::int64_t rank, formats::BurstLogStep step, std::int64_t record,
                       std::int16_t value) {
    Log log(files, "d/a.nc_" + std::to_string(step.step) + "_" + std::to_string(rank), rank, step);
    log.put_row(record, value);
    log.close();
  };
  // Both ranks' logs of step 5 were drained; those of rank 1 are on another node.
  put(0, {5, 5}, 0, 1);
  put(1, {5, 5}, 1, 2);
  (void)recover_all(files);
  {
    const auto file = files.open("d/a.nc", OpenMode::update);
    FileMark mark = mark_of(*file).value();
    CHECK(mark.ranks == std::set<std::int64_t>{0, 1});
    mark.complete = mark.step;
    mark.ranks.clear();
    CHECK(set_mark(*file, mark));
  }
  remove_log(files, "d/a.nc_5_1.meta");
  CHECK(recover_all(files).unchanged == Unchanged::has_all_already);
  for (const bool is_growing : {false, true}) {
    if (is_growing) {
      // The matcher was killed while it appended records in place.
      const auto file = files.open("d/a.nc", OpenMode::update);
      FileMark mark = mark_of(*file).value();
      mark.step = mark.complete;
      mark.ranks.clear();
      mark.content = growing_content;
      CHECK(set_mark(*file, mark));
    }
    put(0, {7, 5}, 2, 3);
    const auto recovery = recover_all(files);
    CHECK_FALSE(recovery.is_new_file);
    CHECK(recovery.replay.puts == 1);
    CHECK(rows_of(files) == std::vector<int>{1, 2, 3});
  }
  CHECK(recover_all(files).unchanged == Unchanged::has_all_already);
}

TEST_CASE("a file of unknown origin is kept under another name, unless it is equal") {
  MemoryFileSystem files;
  Log log(files, "d/a.nc_1_0", 0, {5, 5});
  log.put_row(0, 1);
  log.close();
  files.open("d/a.nc", OpenMode::create)->write(0, std::vector<std::byte>(5));
  CHECK(recover_all(files).kept_as == "d/a.nc.before-recovery");
  CHECK(files.bytes("d/a.nc.before-recovery").size() == 5);
  CHECK(rows_of(files) == std::vector<int>{1});
  // Another program has changed it since.
  files.bytes("d/a.nc").back() = std::byte{77};
  CHECK(recover_all(files).kept_as == "d/a.nc.before-recovery.2");
  CHECK(rows_of(files) == std::vector<int>{1});
  // A copy of the recovered file.
  (void)files.open("d/a.nc", OpenMode::update)->set_mark({});
  const auto recovery = recover_all(files);
  CHECK(recovery.kept_as.empty());
  CHECK(recovery.unchanged == Unchanged::has_all_already);
  CHECK_FALSE(files.exists("d/.a.nc.sluice-partial"));
}

TEST_CASE(
    "a recovery that fails anywhere leaves the file as it was or as it is to be, and the next one is as the "
    "first") {
  const auto prepare = [](MemoryFileSystem& files) {
    files.open("d/a.nc", OpenMode::create)->write(0, std::vector<std::byte>(5));
    for (const std::int64_t rank : {0, 1}) {
      Log log(files, "d/a.nc_1_" + std::to_string(rank), rank, {5, 5});
      log.put_row(rank, static_cast<std::int16_t>(10 + rank));
      log.close();
    }
  };
  std::size_t operations = 0;
  MemoryFileSystem whole;
  prepare(whole);
  FaultyFileSystem counting(whole, [&](const FileOperation&) { return ++operations, Fault{}; });
  (void)recover_all(counting);
  REQUIRE(operations > 10);
  for (std::size_t failing = 1; failing <= operations; ++failing) {
    CAPTURE(failing);
    MemoryFileSystem files;
    prepare(files);
    std::size_t operation = 0;
    FaultyFileSystem faulty(files, [&](const FileOperation& asked) {
      return ++operation == failing ? Fault{ENOSPC, asked.bytes / 2} : Fault{};
    });
    try {
      const auto found = find_logs(faulty, "d");
      for (const auto& group : found.groups) (void)recover_file(faulty, group, "d/a.nc");
    } catch (const Error&) {
      // Reported as an error.
    }
    // If a log could not be read, the others are in the file, and the failure was reported.
    for (const char* name : {"d/a.nc", "d/a.nc.before-recovery"}) {
      if (!files.exists(name) || files.bytes(name).size() == 5) continue;
      const auto rows = rows_of(files, name);
      for (std::size_t i = 0; i < rows.size(); ++i)
        CHECK((rows[i] == -1 || rows[i] == static_cast<int>(10 + i)));
    }
    CHECK((files.exists("d/a.nc") || files.exists("d/a.nc.before-recovery")));
    (void)recover_all(files);
    CHECK(files.bytes("d/a.nc") == whole.bytes("d/a.nc"));
  }
}

TEST_CASE(
    "logs of others are left out, and named; so are headers and data that others have put beside one's own") {
  MemoryFileSystem files;
  const auto write = [&](std::int64_t user, const std::string& base, std::int64_t rank) {
    files.act_as(user);
    Log log(files, base, rank, {5, 5});
    log.put_row(rank, static_cast<std::int16_t>(user));
    log.close();
  };
  write(7, "d/a.nc_1_0", 0);
  write(8, "d/a.nc_2_1", 1);
  const auto found = find_logs(files, "d");
  REQUIRE(found.of_others.size() == 1);
  CHECK(found.of_others.front().path == "d/a.nc_1_0.meta");
  CHECK(found.of_others.front().owner == 7);
  REQUIRE(found.groups.size() == 1);
  (void)recover_file(files, found.groups.front(), "d/a.nc");
  CHECK(rows_of(files) == std::vector<int>{-1, 8});
  const auto all = find_logs(files, "d", LogOwners::anybody);
  CHECK(all.of_others.empty());
  REQUIRE(all.groups.size() == 2);
  CHECK(all.groups[0].owner == 7);
  CHECK(all.groups[1].owner == 8);
  for (const char* suffix : {".header", ".data"}) {
    if (files.exists("d/a.nc")) files.remove("d/a.nc");
    files.act_as(7);
    const auto name = std::string("d/a.nc_2_1") + suffix;
    const auto bytes = files.bytes(name);
    files.remove(name);
    files.open(name, OpenMode::create)->write(0, bytes);
    files.act_as(8);
    const auto group = find_logs(files, "d").groups.at(0);
    bool is_told = false;
    try {
      is_told = !recover_file(files, group, "d/a.nc").problems.empty();
    } catch (const Error& error) {
      is_told = std::string(error.what()).find("another user") != std::string::npos;
    }
    CHECK(is_told);
    files.remove(name);
    files.open(name, OpenMode::create)->write(0, bytes);
  }
}

TEST_CASE(
    "of what several processes put into the same elements the later put wins, however little memory there "
    "is") {
  std::mt19937 random(test::test_seed());
  for (const std::int64_t memory_bytes : {1, 100, 1 << 20}) {
    CAPTURE(memory_bytes);
    MemoryFileSystem files;
    std::vector<std::unique_ptr<Log>> logs;
    for (const std::int64_t rank : {0, 1})
      logs.push_back(std::make_unique<Log>(files, "d/a.nc_1_" + std::to_string(rank), rank,
                                           formats::BurstLogStep{5, 5}));
    std::vector<int> expected(8, -1);
    for (int time = 1; time <= 300; ++time) {
      // Long runs of one process, then alternating processes.
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

TEST_CASE("the later put of one process wins, whatever its clock says") {
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
    "what another node's logs, or these, were brought to is added to, not replaced, whatever the times of "
    "files say") {
  const Scratch scratch;
  const std::string& directory = scratch.path;
  for (const char* node : {"/a", "/b"}) std::filesystem::create_directory(directory + node);
  PosixFileSystem files;
  const std::string target = directory + "/a.nc";
  const auto recover = [&](const std::string& node) {
    const auto found = find_logs(files, directory + node);
    REQUIRE(found.groups.size() == 1);
    return recover_file(files, found.groups.front(), target);
  };
  // The file of an earlier run.
  Log old(files, directory + "/old_1_0", 0, {9, 9}, target, formats::BurstLogIdentity{1, 5, 1});
  old.put_row(7, 9);
  old.close();
  (void)recover("");
  REQUIRE(rows_of(files, target).size() == 8);
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(target, now + std::chrono::hours(1));
  for (const std::int64_t rank : {0, 1}) {
    Log log(files, directory + (rank == 0 ? "/a" : "/b") + "/a.nc_1_" + std::to_string(rank), rank, {5, 5},
            target);
    log.put_row(2 * rank, static_cast<std::int16_t>(rank + 1));
    log.close();
  }
  CHECK(recover("/a").is_new_file);
  CHECK(rows_of(files, target) == std::vector<int>{1});
  std::filesystem::last_write_time(target, now - std::chrono::hours(1));
  CHECK_FALSE(recover("/b").is_new_file);
  CHECK(rows_of(files, target) == std::vector<int>{1, -1, 2});
  CHECK(recover("/a").unchanged == Unchanged::has_all_already);
  CHECK(rows_of(files, target) == std::vector<int>{1, -1, 2});
}

namespace {

/// A log of one process that a program wrote without a workflow, for the existing file: one row of shorts.
void write_own_log(FileSystem& files, const std::string& base, const formats::BurstLogHeader& header,
                   std::int64_t record, std::uint8_t value) {
  BurstLogWriter writer(files, burst_log_paths_of(base + ".meta"), header, BurstLogWriter::Existing::refuse);
  const std::array<std::int64_t, 2> start{record, 0};
  const std::array<std::int64_t, 2> count{1, columns};
  const formats::HyperslabView slab{start, count, {}};
  const auto place = writer.reserve(2 * columns);
  for (std::size_t i = 0; i < 2 * columns; ++i) place[i] = static_cast<std::byte>(i % 2 == 0 ? 0 : value);
  writer.add(2 * columns);
  (void)writer.finish(0, formats::Type::int16, std::span(&slab, 1));
  writer.commit();
  writer.close();
}

formats::BurstLogHeader own_header(std::int64_t rank, std::int64_t processes,
                                   std::optional<formats::BurstLogIdentity> identity) {
  formats::BurstLogHeader header;
  header.cdf_version = 1;
  header.process_count = processes;
  header.rank = rank;
  header.path = "d/a.nc";
  header.processor = "node";
  header.identity = identity;
  return header;
}

void write_dataset(FileSystem& files, const formats::BurstLogIdentity& identity) {
  const auto file = files.open("d/a.nc", OpenMode::create);
  file->write(0, formats::encode_header(dataset_header()));
  FileMark mark;
  mark.created_ns = identity.created_ns;
  mark.group = identity.group;
  mark.content = growing_content;
  CHECK(set_mark(*file, mark));
}

}  // namespace

TEST_CASE("a program's own logs complete a copy of its file, and no other program's") {
  MemoryFileSystem files;
  const formats::BurstLogIdentity earlier{0, 1000, 5};
  const formats::BurstLogIdentity later{0, 2000, 3};
  write_dataset(files, later);
  write_own_log(files, "d/a.nc_0_0", own_header(0, 4, later), 0, 7);
  write_own_log(files, "d/a.nc_0_5", own_header(5, 8, earlier), 5, 9);
  const auto found = find_logs(files, "d");
  REQUIRE(found.groups.size() == 2);
  CHECK_THROWS_WITH_AS((void)recover_file(files, found.groups[0], "d/a.nc"),
                       doctest::Contains("a later program has written "), Error);
  CHECK(rows_of(files).empty());
  (void)recover_file(files, found.groups[1], "d/a.nc");
  CHECK(rows_of(files) == std::vector<int>{7});
  const auto before = files.bytes("d/a.nc");
  (void)recover_file(files, find_logs(files, "d").groups[1], "d/a.nc");
  CHECK(files.bytes("d/a.nc") == before);
  (void)recover_file(files, found.groups[0], "d/a.nc", {}, FileMarks::ignored);
  CHECK(rows_of(files).back() == 9);
}

TEST_CASE("a full disk leaves a program's file as it was") {
  MemoryFileSystem files;
  const formats::BurstLogIdentity identity{0, 1000, 5};
  write_dataset(files, identity);
  write_own_log(files, "d/a.nc_0_0", own_header(0, 1, identity), 2, 7);
  const auto before = files.bytes("d/a.nc");
  bool is_full = false;
  FaultyFileSystem faulty(files, [&](const FileOperation& asked) {
    is_full = is_full || (asked.kind == FileOperation::Kind::write && asked.offset_bytes > 0);
    return is_full && asked.kind == FileOperation::Kind::write ? Fault{ENOSPC, asked.bytes / 2} : Fault{};
  });
  CHECK_THROWS_AS((void)recover_file(faulty, find_logs(files, "d").groups.at(0), "d/a.nc"), IoError);
  CHECK(is_full);
  CHECK(files.bytes("d/a.nc") == before);
  CHECK_FALSE(files.exists("d/.a.nc.sluice-partial"));
}

TEST_CASE("logs that do not say which run they are of, and do not fit together, are refused by name") {
  MemoryFileSystem files;
  const formats::BurstLogIdentity identity{0, 1000, 5};
  write_dataset(files, identity);
  const auto before = files.bytes("d/a.nc");
  for (const std::int64_t rank : {0, 1})
    write_own_log(files, "d/a.nc_0_" + std::to_string(rank), own_header(rank, 2, {}), rank, 1);
  SUBCASE("of programs of several sizes") {
    for (const std::int64_t rank : {4, 5})
      write_own_log(files, "d/a.nc_0_" + std::to_string(rank), own_header(rank, 8, {}), rank, 2);
    CHECK_THROWS_WITH_AS((void)recover_file(files, find_logs(files, "d").groups.at(0), "d/a.nc"),
                         doctest::Contains("d/a.nc_0_4.meta from one with 8."), Error);
  }
  SUBCASE("with others that do") {
    write_own_log(files, "d/a.nc_1_0", own_header(0, 2, identity), 0, 2);
    const auto found = find_logs(files, "d");
    REQUIRE(found.groups.size() == 2);
    CHECK_THROWS_WITH_AS((void)recover_file(files, found.groups[0], "d/a.nc"),
                         doctest::Contains("d/a.nc_0_0.meta does not name its run"), Error);
  }
  CHECK(files.bytes("d/a.nc") == before);
}

TEST_CASE("another user's files are not in the way of a log, and stay") {
  MemoryFileSystem files;
  files.act_as(7);
  for (const char* suffix : {".meta", ".data"})
    files.open(std::string("d/a.nc_0_0") + suffix, OpenMode::create)->write(0, std::vector<std::byte>(3));
  files.act_as(8);
  const formats::BurstLogIdentity identity{0, 1000, 5};
  for (const auto existing : {BurstLogWriter::Existing::refuse, BurstLogWriter::Existing::overwrite}) {
    BurstLogWriter writer(files, burst_log_paths_of("d/a.nc_0_0.meta"), own_header(0, 1, identity), existing);
    CHECK(writer.paths().metadata == "d/a.nc_5_0_0.meta");
    writer.close();
  }
  CHECK(files.owner_of("d/a.nc_0_0.meta") == 7);
  CHECK(files.bytes("d/a.nc_0_0.data").size() == 3);
}

namespace {

/// Changes one statement of the log of rank 1 of two; `base` is the name up to the rank.
using Change = void (*)(std::string& path, formats::BurstLogStep& step, formats::BurstLogIdentity& identity);

std::string base_of_step(std::uint64_t group) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(group));
  return std::string("d/a.nc_") + digits.data() + "_";
}

void write_step_log(FileSystem& files, std::int64_t rank, Change change) {
  std::string path = "d/a.nc";
  formats::BurstLogStep step{7, 5};
  formats::BurstLogIdentity identity{11, 1000, 1};
  const auto base = base_of_step(identity.group) + std::to_string(rank);
  if (change != nullptr) change(path, step, identity);
  Log log(files, base, rank, step, path, identity);
  log.put_row(rank, static_cast<std::int16_t>(rank));
  log.close();
}

}  // namespace

TEST_CASE("logs of one step that contradict one another are told with both names, and nothing is mixed") {
  const std::vector<Change> changes{
      [](auto& path, auto&, auto&) { path = "d/b.nc"; },
      [](auto&, auto& step, auto&) { step.step = 8; },
      [](auto&, auto& step, auto&) { step.step = 4; },
      [](auto&, auto& step, auto&) { step.origin = 4; },
      [](auto&, auto& step, auto&) { step.origin = 0; },
      [](auto&, auto&, auto& identity) { identity.run ^= 1U << 7U; },
      [](auto&, auto&, auto& identity) { identity.created_ns += 1; },
      [](auto&, auto&, auto& identity) { identity.group = 3; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    MemoryFileSystem files;
    write_step_log(files, 0, nullptr);
    write_step_log(files, 1, changes[i]);
    const auto found = find_logs(files, "d");
    for (const auto& group : found.groups) {
      CAPTURE(group.refusal);
      CHECK(group.refusal.find(base_of_step(1) + "0.meta") != std::string::npos);
      CHECK(group.refusal.find(base_of_step(1) + "1.meta") != std::string::npos);
      CHECK_THROWS_AS((void)recover_file(files, group, group.netcdf_path), Error);
    }
    CHECK_FALSE(files.exists("d/a.nc"));
    CHECK_FALSE(files.exists("d/b.nc"));
  }
}

TEST_CASE("a single log of a step that contradicts its name is told") {
  const std::vector<Change> changes{
      [](auto& path, auto&, auto&) { path = "d/b.nc"; },
      [](auto&, auto& step, auto&) { step.origin = 9; },
      [](auto&, auto&, auto& identity) { identity.group = 3; },
  };
  for (const Change change : changes) {
    MemoryFileSystem files;
    write_step_log(files, 0, change);
    const auto found = find_logs(files, "d");
    REQUIRE(found.groups.size() == 1);
    CHECK(found.groups.front().refusal.find(base_of_step(1) + "0.meta") != std::string::npos);
  }
}

TEST_CASE("two steps of a run that claim the same number, or an origin of another file, are told") {
  const auto write = [](FileSystem& files, std::uint64_t group, formats::BurstLogStep step,
                        const std::string& name) {
    auto base = base_of_step(group);
    base.replace(2, 4, name);
    Log log(files, base + "0", 0, step, "d/" + name, formats::BurstLogIdentity{11, 1000, group});
    log.put_row(0, 1);
    log.close();
  };
  for (const formats::BurstLogStep second : {formats::BurstLogStep{5, 5}, formats::BurstLogStep{7, 5}}) {
    MemoryFileSystem files;
    write(files, 1, {5, 5}, "a.nc");
    write(files, 2, second, "b.nc");
    const auto found = find_logs(files, "d");
    REQUIRE(found.groups.size() == 2);
    for (const auto& group : found.groups) {
      CHECK(group.refusal.find(base_of_step(1) + "0.meta") != std::string::npos);
      CHECK(group.refusal.find("d/b.nc_0000000000000002_0.meta") != std::string::npos);
    }
  }
}

TEST_CASE("sound logs of several steps, files and runs contradict nothing") {
  MemoryFileSystem files;
  std::uint64_t group = 0;
  for (const std::uint64_t run : {11U, 12U}) {
    for (const auto& [step, origin] : {std::pair{5, 5}, {6, 6}, {7, 5}}) {
      for (const std::int64_t rank : {0, 1}) {
        Log log(files, base_of_step(group) + std::to_string(rank), rank, {step, origin}, "d/a.nc",
                formats::BurstLogIdentity{run, static_cast<std::int64_t>(run), group});
        log.put_row(rank, 1);
        log.close();
      }
      ++group;
    }
  }
  const auto found = find_logs(files, "d");
  CHECK(found.groups.size() == 4);
  for (const auto& each : found.groups) CHECK(each.refusal.empty());
}

namespace {

/// The group of logs "d/a.nc_…", as the step left it.
LogGroup logs_of(FileSystem& files, std::int64_t until_step) {
  auto found = find_logs(files, "d");
  REQUIRE(found.groups.size() == 1);
  found.groups.front().until_step = until_step;
  return found.groups.front();
}

std::string dimension_of(FileSystem& files) {
  return read_header(*files.open("d/a.nc", OpenMode::read)).decoded.header.dimension(1).name;
}

}  // namespace

TEST_CASE("in logs of several steps, later steps win, whatever the clocks of other nodes say") {
  MemoryFileSystem files;
  Log first(files, "d/a.nc_1_0", 0, {5, 5});
  first.put_row_at(100, 0, 1);
  first.go_on(7);
  first.put_row_at(110, 1, 3);
  first.close();
  Log second(files, "d/a.nc_1_1", 1, {5, 5});
  second.put_row_at(900, 1, 2);
  second.put_row_at(901, 2, 4);
  second.close();
  CHECK(recover_all(files).replay.puts == 4);
  CHECK(rows_of(files) == std::vector<int>{1, 3, 4});
}

TEST_CASE("a file is made as a step left it, with the header of that step") {
  MemoryFileSystem files;
  Log log(files, "d/a.nc_1_0", 0, {5, 5});
  log.put_row(0, 1);
  log.go_on(6);
  log.put_row(0, 2);
  log.put_row(1, 2);
  log.go_on(8, "sixth");  // the header of step 8
  log.put_row(1, 3);
  log.go_on(9, "seventh");
  log.mark_closed(8);
  log.close();
  struct Expected {
    std::int64_t until;
    std::vector<int> rows;
    std::string dimension;
  };
  const std::vector<Expected> all{{5, {1}, "column"},
                                  {6, {2, 2}, "column"},
                                  {7, {2, 2}, "column"},
                                  {8, {2, 3}, "sixth"},
                                  {9, {2, 3}, "seventh"}};
  for (const Expected& expected : all) {
    const auto& [step, rows, dimension] = expected;
    const std::int64_t until = step;  // clang 14 captures no bindings
    CAPTURE(until);
    const auto group = logs_of(files, until);
    CHECK(group.logs.front().closed_step == 8);
    CHECK(group.logs.front().last_step == 9);
    CHECK(recover_file(files, group, "d/a.nc", {}, FileMarks::ignored).is_new_file);
    CHECK(rows_of(files) == rows);
    CHECK(dimension_of(files) == dimension);
    CHECK(mark_of(*files.open("d/a.nc", OpenMode::read))->step == std::min<std::int64_t>(until, 9));
  }
}

TEST_CASE("a log may have no header of its first step") {
  MemoryFileSystem files;
  Log first(files, "d/a.nc_1_0", 0, {5, 5});
  first.put_row(0, 1);
  first.close();
  Log second(files, "d/a.nc_2_0", 0, {6, 5, 5});
  second.put_row(1, 2);
  files.remove("d/a.nc_2_0.header");
  second.go_on(7, "later");
  second.put_row(2, 3);
  second.close();
  (void)recover_file(files, logs_of(files, 6), "d/a.nc", {}, FileMarks::ignored);
  CHECK(rows_of(files) == std::vector<int>{1, 2});
  CHECK(dimension_of(files) == "column");
  (void)recover_file(files, logs_of(files, 7), "d/a.nc", {}, FileMarks::ignored);
  CHECK(rows_of(files) == std::vector<int>{1, 2, 3});
  CHECK(dimension_of(files) == "later");
}

TEST_CASE("a drained file gets only the later steps of a log") {
  MemoryFileSystem files;
  Log log(files, "d/a.nc_1_0", 0, {5, 5});
  log.put_row(0, 1);
  log.put_row(1, 1);
  log.go_on(6);
  log.put_row(1, 2);
  log.close();
  (void)recover_file(files, logs_of(files, 5), "d/a.nc");
  const auto file = files.open("d/a.nc", OpenMode::update);
  // The drain has the puts of all processes: another one has put row 0 after this one.
  const auto header = read_header(*file).decoded.header;
  const std::array<std::byte, 2> nine{std::byte{0}, std::byte{9}};
  file->write(header.variable(0).begin, nine);
  auto mark = *mark_of(*file);
  mark.complete = mark.step = 5;
  mark.content = content_of(*file);
  REQUIRE(set_mark(*file, mark));
  const auto recovery = recover_all(files);
  CHECK_FALSE(recovery.is_new_file);
  CHECK(recovery.replay.puts == 1);
  CHECK(rows_of(files) == std::vector<int>{9, 2});
  CHECK(recover_all(files).unchanged == Unchanged::has_all_already);
}

TEST_CASE(
    "a step that was discarded does not count, because a later step names the one that it was opened on") {
  MemoryFileSystem files;
  for (const bool has_later : {false, true}) {
    Log log(files, "d/a.nc_1_0", 0, {5, 5});
    log.put_row(0, 1);
    log.go_on(6);
    log.put_row(0, 2);
    log.go_on(7);  // its process was killed
    log.put_row(0, 3);
    log.put_row(1, 3);
    log.close();
    if (has_later) {
      Log later(files, "d/a.nc_2_0", 0, {8, 5, 6});
      later.put_row(2, 4);
      later.close();
    }
    (void)recover_all(files);
    CHECK(rows_of(files) == (has_later ? std::vector<int>{2, -1, 4} : std::vector<int>{3, 3}));
  }
}

TEST_CASE("the steps of more logs than can be open are in order") {
  MemoryFileSystem files;
  constexpr std::int64_t many = 401;
  for (std::int64_t rank = 0; rank < many; ++rank) {
    Log log(files, "d/a.nc_1_" + std::to_string(rank), rank % 8, {5, 5});
    log.put_row(rank, 1);
    if (rank == many - 1) log.put_row(0, 2);  // of the first step, in the last log
    log.go_on(6);
    if (rank == 0) log.put_row(0, 3);
    log.close();
  }
  (void)recover_file(files, logs_of(files, 6), "d/a.nc");
  CHECK(rows_of(files).front() == 3);
  CHECK(rows_of(files).size() == many);
}
