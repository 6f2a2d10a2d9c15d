// Burst-buffer logs: they have the documented format, complete puts are read, and torn or damaged ones are
// reported.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "burst_log_world.hpp"
#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::storage;
using formats::Type;
using Bytes = MemoryFileSystem::Bytes;
using Existing = BurstLogWriter::Existing;

namespace {

const std::filesystem::path folder = GOLDEN_FOLDER;
const BurstLogPaths paths{"x.meta", "x.data"};

Bytes contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The four puts of ok_every_kind.
std::vector<LoggedPut> every_kind() {
  return {{0, Type::int16, {{{1, 0}, {1, 3}, {}}}, bytes_of({0xff, 0xff, 0, 2, 1, 44})},
          {1,
           Type::float64,
           {{{0}, {2}, {5}}},
           bytes_of({0x3f, 0xe0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0})},
          {2, Type::int32, {{{7}, {1}, {}}, {{0}, {2}, {}}}, bytes_of({0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3})},
          {3, Type::int8, {{{}, {}, {}}}, bytes_of({7})}};
}

/// "2 entries; torn: entry 1 at byte 96: …", as in the folder's expected.txt.
std::string outcome(FileSystem& files, const std::string& metadata_path) {
  try {
    BurstLogReader reader(files, metadata_path);
    int entries = 0;
    while (reader.next()) ++entries;
    std::string text = std::to_string(entries) + " entries";
    if (reader.withdrawn_count() > 0) text += ", " + std::to_string(reader.withdrawn_count()) + " withdrawn";
    for (const auto& problem : reader.problems()) {
      text += problem.kind == BurstLogProblem::Kind::torn ? "; torn" : "; damaged";
      text += ": entry " + std::to_string(problem.entry) + " at byte " +
              std::to_string(problem.offset_bytes) + ": " + problem.what;
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

/// A name as it is in expected.txt, with paths relative to this folder.
std::string without_folder(std::string text) {
  const auto prefix = folder.string() + "/";
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
    text.erase(at, prefix.size());
  return text;
}

/// The number of leading puts that the log has; -1 when it has anything else.
int complete_puts(FileSystem& files, const std::vector<LoggedPut>& puts,
                  const std::string& metadata_path = paths.metadata) {
  BurstLogReader reader(files, metadata_path);
  std::size_t n = 0;
  while (const auto entry = reader.next()) {
    if (n == puts.size() || !is_put(*entry, puts[n], reader)) return -1;
    ++n;
  }
  return static_cast<int>(n);
}

}  // namespace

TEST_CASE("the contents and faults of each golden log are reported") {
  std::ifstream list(folder / "expected.txt");
  PosixFileSystem files;
  std::string line;
  std::set<std::string> listed;
  while (std::getline(list, line)) {
    const auto colon = line.find(": ");
    const auto name = line.substr(0, colon);
    CAPTURE(name);
    listed.insert(name);
    CHECK(without_folder(outcome(files, (folder / (name + ".meta")).string())) == line.substr(colon + 2));
  }
  CHECK(listed.size() > 40);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".meta") CHECK(listed.count(entry.path().stem().string()) == 1);
  }
}

TEST_CASE("a log is written byte by byte as the format says") {
  MemoryFileSystem files;
  BurstLogWriter writer(files, paths, log_header(), Existing::refuse);
  const auto puts = every_kind();
  append(writer, puts[0]);
  writer.commit();
  for (std::size_t i = 1; i < puts.size(); ++i) append(writer, puts[i]);
  writer.commit();
  CHECK(writer.entry_count() == 4);
  writer.close();
  CHECK(files.bytes("x.meta") == contents(folder / "ok_every_kind.meta"));
  CHECK(files.bytes("x.data") == contents(folder / "ok_every_kind.data"));
  CHECK(complete_puts(files, puts) == 4);
}

TEST_CASE("a log says of which run, step and group it is, and damage there is not taken for one") {
  const formats::BurstLogIdentity identity{~std::uint64_t{0}, 1'700'000'000'000'000'000, 77};
  for (const bool has_step : {false, true}) {
    auto header = log_header();
    header.identity = identity;
    if (has_step) header.step = formats::BurstLogStep{9, 3};
    auto bytes = formats::encode_burst_log_header(header);
    CHECK(header.entry_begin == std::ssize(bytes));
    const auto decoded = formats::decode_burst_log_header(bytes, std::ssize(bytes), "x").value();
    CHECK(decoded.identity == identity);
    CHECK(decoded.step == header.step);
    CHECK(decoded.path == header.path);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
      CHECK_FALSE(formats::decode_burst_log_header(std::span(bytes).first(cut), std::ssize(bytes), "x"));
    bytes[bytes.size() - 32] = std::byte{'s'};
    CHECK_FALSE(formats::decode_burst_log_header(bytes, std::ssize(bytes), "x").value().identity);
  }
}

TEST_CASE("PnetCDF's own logs are understood") {
  PosixFileSystem files;
  BurstLogReader reader(files, (folder / "ok_pnetcdf.meta").string());
  CHECK(reader.header().path == "/data/wave.nc");
  CHECK(reader.header().processor == "n1");
  CHECK(reader.header().entry_begin == 96);
  CHECK(reader.header().rank == 1);
  CHECK_FALSE(reader.header().is_external);
  const auto entry = reader.next();
  REQUIRE(entry);
  CHECK(entry->starts == std::vector<std::int64_t>{1, 0});
  CHECK(entry->counts == std::vector<std::int64_t>{1, 3});
}

TEST_CASE("a log that is cut at any byte gives the entries before the cut") {
  MemoryFileSystem files;
  const auto puts = every_kind();
  const auto metadata = contents(folder / "ok_every_kind.meta");
  const auto data = contents(folder / "ok_every_kind.data");
  for (std::size_t size = 96; size <= metadata.size(); ++size) {
    CAPTURE(size);
    files.open("x.meta", OpenMode::create)->write(0, std::span(metadata).first(size));
    files.open("x.data", OpenMode::create)->write(0, data);
    int expected = 0;
    for (const std::size_t end : {184u, 248u, 320u, 360u}) expected += size >= end ? 1 : 0;
    CHECK(complete_puts(files, puts) == expected);
  }
  for (std::size_t size = 0; size < 96; ++size) {
    CAPTURE(size);
    files.open("x.meta", OpenMode::create)->write(0, std::span(metadata).first(size));
    CHECK_THROWS_AS(BurstLogReader(files, "x.meta"), FormatError);
  }
  files.open("x.meta", OpenMode::create)->write(0, metadata);
  for (std::size_t size = 8; size <= data.size(); ++size) {
    CAPTURE(size);
    files.open("x.data", OpenMode::create)->write(0, std::span(data).first(size));
    int expected = 0;
    for (const std::size_t end : {14u, 30u, 42u, 43u}) expected += size >= end ? 1 : 0;
    CHECK(complete_puts(files, puts) == expected);
  }
}

TEST_CASE("whatever byte of a log is changed, reading it ends") {
  MemoryFileSystem files;
  const auto metadata = contents(folder / "ok_every_kind.meta");
  files.open("x.data", OpenMode::create)->write(0, contents(folder / "ok_every_kind.data"));
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      auto changed = metadata;
      changed[i] ^= static_cast<std::byte>(change);
      files.open("x.meta", OpenMode::create)->write(0, changed);
      CHECK_FALSE(outcome(files, "x.meta").empty());
    }
  }
}

TEST_CASE("a process that dies at any write leaves the puts that it had committed") {
  const auto puts = every_kind();
  for (int fatal = 2; fatal < 20; ++fatal) {
    for (const std::int64_t arrives : {0, 1, 7, 1000}) {
      CAPTURE(fatal);
      CAPTURE(arrives);
      MemoryFileSystem memory;
      int writes = 0;
      FaultyFileSystem files(memory, [&](const FileOperation& operation) {
        if (operation.kind != FileOperation::Kind::write || ++writes <= fatal) return Fault{};
        return Fault{EIO, writes == fatal + 1 ? arrives : 0};
      });
      int committed = 0;
      int tried = 0;
      try {
        BurstLogWriter writer(files, paths, log_header(), Existing::refuse);
        for (const auto& put : puts) {
          ++tried;
          append(writer, put);
          writer.commit();
          ++committed;
        }
      } catch (const IoError&) {
      }
      const int found = complete_puts(memory, puts);
      // The write of the number may have been complete before the process died.
      CHECK(found >= committed);
      CHECK(found <= tried);
      if (arrives == 0) CHECK(found == committed);
      // The number counts only complete entries.
      CHECK(BurstLogReader(memory, paths.metadata).header().entry_count == found);
    }
  }
}

TEST_CASE("a full disk is an error of the put, and the log goes on where there is room again") {
  MemoryFileSystem memory;
  bool is_full = false;
  FaultyFileSystem files(memory, [&](const FileOperation& operation) {
    return is_full && operation.kind == FileOperation::Kind::write ? Fault{ENOSPC, 3} : Fault{};
  });
  BurstLogWriter writer(files, paths, log_header(), Existing::refuse);
  const auto puts = every_kind();
  append(writer, puts[0]);
  writer.commit();
  is_full = true;
  append(writer, puts[2]);
  try {
    writer.commit();
    FAIL("the disk is full");
  } catch (const IoError& error) {
    CHECK(error.status() == NC_ENO_SPACE);
  }
  is_full = false;
  append(writer, puts[1]);
  writer.commit();
  CHECK(complete_puts(memory, {puts[0], puts[1]}) == 2);
}

TEST_CASE("data of any size goes through the writer's buffer") {
  std::mt19937 random(test::test_seed(7));
  MemoryFileSystem files;
  BurstLogWriter writer(files, paths, log_header(), Existing::refuse);
  std::vector<LoggedPut> puts;
  for (const std::size_t size :
       {1u, 100u, 262144u, 262145u, 8u, 262143u, 3u, 1000000u, 5u, 200000u, 200000u}) {
    LoggedPut put{
        0, Type::int8, {{{0}, {static_cast<std::int64_t>(size)}, {}}}, std::vector<std::byte>(size)};
    for (auto& byte : put.data) byte = static_cast<std::byte>(random());
    append(writer, put);
    puts.push_back(std::move(put));
  }
  writer.commit();
  CHECK(complete_puts(files, puts) == std::ssize(puts));
}

TEST_CASE(
    "a log takes no more space than it has data until it is large, and loses nothing when it is mapped") {
  const std::filesystem::path folder = "growing." + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const auto logs = burst_log_paths(folder.string(), "/data/wave.nc", 0, 0);
  PosixFileSystem files;
  BurstLogWriter writer(files, logs, log_header(), Existing::refuse);
  const auto size_of_data = [&] { return static_cast<std::int64_t>(std::filesystem::file_size(logs.data)); };
  std::vector<LoggedPut> puts;
  std::int64_t data_bytes = formats::burst_data_begin;
  for (int i = 0; i < 3000; ++i) {
    puts.push_back({0, Type::int8, {{{i}, {40}, {}}}, std::vector<std::byte>(40, std::byte(i % 100))});
    append(writer, puts.back());
    writer.commit();
    data_bytes += 40;
    if (data_bytes < (64 << 10)) CHECK(size_of_data() == data_bytes);
    CHECK(size_of_data() >= data_bytes);
    CHECK(size_of_data() < 3 * data_bytes);
    if (i % 500 == 0) CHECK(complete_puts(files, puts, logs.metadata) == i + 1);
  }
  writer.close();
  CHECK(size_of_data() == data_bytes);
  CHECK(complete_puts(files, puts, logs.metadata) == std::ssize(puts));
  std::filesystem::remove_all(folder);
}

TEST_CASE("a put can be withdrawn until the log is emptied") {
  MemoryFileSystem files;
  BurstLogWriter writer(files, paths, log_header(), Existing::refuse);
  const auto puts = every_kind();
  const auto first = append(writer, puts[0]);
  const auto second = append(writer, puts[1]);
  writer.commit();
  CHECK(writer.withdraw(first));
  CHECK(complete_puts(files, {puts[1]}) == 1);
  writer.clear();
  CHECK(complete_puts(files, {}) == 0);
  CHECK_FALSE(writer.withdraw(second));
  const auto third = append(writer, puts[2]);
  writer.commit();
  CHECK_FALSE(writer.withdraw(first));
  CHECK(writer.withdraw(third));
  CHECK(complete_puts(files, {}) == 0);
  append(writer, puts[3]);
  writer.commit();
  CHECK(complete_puts(files, {puts[3]}) == 1);
}

TEST_CASE("a log that is there is not overwritten unless that is asked for, and never while it is in use") {
  const std::string directory = "logs." + std::to_string(::getpid());
  std::filesystem::create_directory(directory);
  PosixFileSystem files;
  const auto real = burst_log_paths(directory, "/somewhere/wave.nc", 3, 12);
  CHECK(real.metadata == directory + "/wave.nc_3_12.meta");
  CHECK(real.data == directory + "/wave.nc_3_12.data");
  CHECK(burst_log_paths_of(real.metadata).data == real.data);
  const auto status = [&](Existing existing) {
    try {
      BurstLogWriter(files, real, log_header(), existing);
    } catch (const Error& error) {
      return static_cast<int>(error.status());
    }
    return 0;
  };
  {
    BurstLogWriter writer(files, real, log_header(), Existing::refuse);
    CHECK(is_in_use(files, real.metadata));
    CHECK(status(Existing::refuse) == NC_EEXIST);
    CHECK(status(Existing::overwrite) == NC_EEXIST);
    writer.close();
  }
  CHECK_FALSE(is_in_use(files, real.metadata));
  CHECK(status(Existing::refuse) == NC_EEXIST);
  CHECK(status(Existing::overwrite) == 0);
  std::filesystem::remove_all(directory);
  CHECK(status(Existing::refuse) == NC_EBAD_FILE);
}
