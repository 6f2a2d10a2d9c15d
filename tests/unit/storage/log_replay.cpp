// Logs of several processes, replayed into a netCDF file and compared with an array in memory.
#include "sluice/storage/log_replay.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "burst_log_world.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::storage;
using formats::Type;
using Bytes = MemoryFileSystem::Bytes;

namespace {

constexpr const char* target = "wave.nc";

/// int fixed(6, 7); short record(time, 5); double point; byte record_too(time, 3)
struct World {
  MemoryFileSystem memory;
  formats::Header header;
  formats::Layout layout;
  Bytes expected;  ///< the expected bytes of the file
  std::int64_t records = 2;

  explicit World(formats::Version version) {
    header.version = version;
    const int time = header.add_dimension({"time", 0, true});
    const int six = header.add_dimension({"six", 6, false});
    const int seven = header.add_dimension({"seven", 7, false});
    const int five = header.add_dimension({"five", 5, false});
    const int three = header.add_dimension({"three", 3, false});
    const auto add = [&](const char* name, Type type, std::vector<int> dimids) {
      formats::Variable variable;
      variable.name = name;
      variable.type = type;
      variable.dimids = std::move(dimids);
      header.add_variable(variable);
    };
    add("fixed", Type::int32, {six, seven});
    add("record", Type::int16, {time, five});
    add("point", Type::float64, {});
    add("record_too", Type::int8, {time, three});
    header.record_count = records;
    layout = formats::compute_layout(header, {}, nullptr);
    const auto bytes = formats::encode_header(header);
    expected.assign(static_cast<std::size_t>(layout.record_begin + 2 * layout.record_size), std::byte{0xee});
    std::ranges::copy(bytes, expected.begin());
    memory.open(target, OpenMode::create)->write(0, expected);
  }

  /// Adds a put to the expected bytes.
  void note(const LoggedPut& put) {
    auto from = put.data.begin();
    for (const auto& slab : put.slabs) {
      std::vector<formats::FileRun> runs;
      formats::append_runs(header, layout, put.varid, slab.start, slab.count, slab.stride, runs);
      for (const auto& run : runs) {
        if (run.offset_bytes + run.length_bytes > std::ssize(expected))
          expected.resize(static_cast<std::size_t>(run.offset_bytes + run.length_bytes));
        std::copy_n(from, run.length_bytes, expected.begin() + run.offset_bytes);
        from += run.length_bytes;
      }
      if (header.is_record_variable(put.varid)) records = std::max(records, slab.view().end_of(0));
    }
    const std::size_t size = header.version == formats::Version::cdf5 ? 8 : 4;
    for (std::size_t i = 0; i < size; ++i)
      expected[4 + i] = static_cast<std::byte>(records >> (8 * (size - 1 - i)) & 0xFF);
  }
};

/// A put by one of `ranks` processes. In a fixed variable each process has its columns, in a record variable
/// its records.
LoggedPut draw_put(std::mt19937& random, int rank, int ranks) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  LoggedPut put;
  std::size_t bytes = 0;
  if (below(4) == 0) {
    put.varid = 0;
    put.type = Type::int32;
    const auto start = below(6);
    const auto count = 1 + below(6 - start);
    const std::int64_t stride = count > 1 && below(2) == 0 ? 1 : 2;
    const auto rows = (count + stride - 1) / stride;
    if (rank >= 7) return draw_put(random, rank % 7, ranks);
    put.slabs = {{{start, rank}, {rows, 1}, {stride, 1}}};
    bytes = static_cast<std::size_t>(rows) * 4;
  } else if (below(5) == 0 && rank == 0) {
    put = {2, Type::float64, {{{}, {}, {}}}, {}};
    bytes = 8;
  } else {
    const bool is_short = below(2) == 0;
    const std::int64_t length = is_short ? 5 : 3;
    put.varid = is_short ? 1 : 3;
    put.type = is_short ? Type::int16 : Type::int8;
    for (auto n = 1 + below(3); n > 0; --n) {
      const auto start = below(length);
      const auto count = 1 + below(length - start);
      put.slabs.push_back({{rank + ranks * below(4), start}, {1, count}, {}});
      bytes += static_cast<std::size_t>(count) * (is_short ? 2 : 1);
    }
  }
  put.data.resize(bytes);
  for (auto& byte : put.data) byte = static_cast<std::byte>(random());
  return put;
}

std::string path_of_log(int rank) {
  return "wave.nc_0_" + std::to_string(rank) + ".meta";
}

void write_logs(World& world, std::uint64_t seed, int ranks, int puts) {
  std::mt19937 random(seed);
  for (int rank = 0; rank < ranks; ++rank) {
    auto header = log_header(target, rank);
    header.process_count = ranks;
    BurstLogWriter writer(world.memory, burst_log_paths_of(path_of_log(rank)), header,
                          BurstLogWriter::Existing::refuse);
    for (int i = 0; i < puts; ++i) {
      const auto put = draw_put(random, rank, ranks);
      append(writer, put);
      if (i % 3 == 0) writer.commit();
      world.note(put);
    }
    writer.commit();
    writer.close();
  }
}

std::vector<BurstLogReader> read_logs(World& world, int ranks) {
  std::vector<BurstLogReader> logs;
  for (int rank = 0; rank < ranks; ++rank) logs.emplace_back(world.memory, path_of_log(rank));
  return logs;
}

ReplayResult replay(World& world, FileSystem& files, int ranks, const ReplayOptions& options = {}) {
  auto logs = read_logs(world, ranks);
  const auto result = replay_logs(files, logs, target, options);
  for (const auto& log : logs) CHECK(log.problems().empty());
  return result;
}

}  // namespace

TEST_CASE("logs of several processes are replayed correctly, with any memory limit, any number of times") {
  const std::uint64_t seed = test::test_seed();
  for (const auto version : {formats::Version::cdf1, formats::Version::cdf2, formats::Version::cdf5}) {
    for (const int ranks : {1, 2, 5}) {
      for (const std::int64_t memory : {1, 50, 1 << 20}) {
        for (const std::int64_t window : {8, 100, 4 << 20}) {
          World world(version);
          write_logs(world, seed, ranks, 40);
          for (int times = 0; times < 2; ++times) {
            const auto result = replay(world, world.memory, ranks, {memory, window});
            CHECK(result.puts == 40 * ranks);
            CHECK(result.record_count == world.records);
            CHECK(result.raised_record_count == (times == 0 && world.records > 2));
            REQUIRE(world.memory.bytes(target) == world.expected);
          }
        }
      }
    }
  }
}

TEST_CASE(
    "interleaved puts of several processes are written in large pieces, in ascending order, and synced "
    "before the records are counted") {
  World world(formats::Version::cdf5);
  for (int rank = 0; rank < 7; ++rank) {
    BurstLogWriter writer(world.memory, burst_log_paths_of(path_of_log(rank)), log_header(target, 1),
                          BurstLogWriter::Existing::refuse);
    const LoggedPut column{
        0, Type::int32, {{{0, rank}, {6, 1}, {}}}, std::vector<std::byte>(24, std::byte{1})};
    const LoggedPut record{
        1, Type::int16, {{{rank, 0}, {1, 5}, {}}}, std::vector<std::byte>(10, std::byte{2})};
    append(writer, record);
    append(writer, column);
    writer.commit();
  }
  std::vector<FileOperation> operations;
  FaultyFileSystem files(world.memory, [&](const FileOperation& operation) {
    if (operation.kind == FileOperation::Kind::write || operation.kind == FileOperation::Kind::sync)
      operations.push_back(operation);
    return Fault{};
  });
  replay(world, files, 7);
  // One for the fixed variable, one for each record, and the number of records between two syncs.
  REQUIRE(operations.size() == 1 + 7 + 3);
  CHECK(operations[0].bytes == 6 * 7 * 4);
  for (std::size_t i = 1; i < 8; ++i) CHECK(operations[i].offset_bytes > operations[i - 1].offset_bytes);
  CHECK(operations[8].kind == FileOperation::Kind::sync);
  CHECK(operations[9].offset_bytes == 4);
  CHECK(operations[10].kind == FileOperation::Kind::sync);
}

TEST_CASE("a replay that dies at any write is completed by the next one") {
  for (int fatal = 0; fatal < 12; ++fatal) {
    World world(formats::Version::cdf2);
    write_logs(world, 5, 3, 10);
    int writes = 0;
    FaultyFileSystem files(world.memory, [&](const FileOperation& operation) {
      if (operation.kind != FileOperation::Kind::write || operation.path != target) return Fault{};
      return ++writes > fatal ? Fault{EIO, 1} : Fault{};
    });
    auto logs = read_logs(world, 3);
    try {
      replay_logs(files, logs, target, {100, 64});
    } catch (const IoError&) {
    }
    replay(world, world.memory, 3);
    CHECK(world.memory.bytes(target) == world.expected);
  }
}

TEST_CASE("data in the program's types is converted, and range errors are reported") {
  World world(formats::Version::cdf2);
  auto header = log_header(target, 0);
  header.is_external = false;
  BurstLogWriter writer(world.memory, burst_log_paths_of(path_of_log(0)), header,
                        BurstLogWriter::Existing::refuse);
  const std::array<double, 5> values{1, -2, 300, 1e9, 5};
  const auto bytes = std::as_bytes(std::span(values));
  append(writer, {1, Type::float64, {{{0, 0}, {1, 5}, {}}}, {bytes.begin(), bytes.end()}});
  writer.commit();
  const auto result = replay(world, world.memory, 1);
  CHECK(result.out_of_range == 1);
  world.note({1, Type::int16, {{{0, 0}, {1, 5}, {}}}, bytes_of({0, 1, 0xff, 0xfe, 1, 44, 0x80, 1, 0, 5})});
  CHECK(world.memory.bytes(target) == world.expected);
}

TEST_CASE("entries that do not fit the file are named, and the others are put") {
  World world(formats::Version::cdf5);
  BurstLogWriter writer(world.memory, burst_log_paths_of(path_of_log(0)), log_header(target, 0),
                        BurstLogWriter::Existing::refuse);
  const auto int_at = [](int varid, std::vector<std::int64_t> start) {
    return LoggedPut{varid,
                     Type::int32,
                     {{start, std::vector<std::int64_t>(start.size(), 1), {}}},
                     bytes_of({1, 2, 3, 4})};
  };
  const std::vector<LoggedPut> puts{
      int_at(9, {0, 0}),
      int_at(0, {0}),
      int_at(0, {6, 0}),
      int_at(0, {0, std::int64_t{1} << 62}),
      int_at(0, {1, 1}),
      int_at(1, {0, 0}),
      {1, Type::int16, {{{std::int64_t{1} << 61, 0}, {1, 1}, {}}}, bytes_of({1, 2})}};
  for (const auto& put : puts) append(writer, put);
  writer.commit();
  auto logs = read_logs(world, 1);
  const auto result = replay_logs(world.memory, logs, target);
  CHECK(result.puts == 1);
  world.note(puts[4]);
  CHECK(world.memory.bytes(target) == world.expected);
  REQUIRE(logs[0].problems().size() == 6);
  const std::vector<std::string> says{"variable 9", "1 dimensions",    "not inside",
                                      "not inside", "the data is int", "not inside"};
  for (std::size_t i = 0; i < says.size(); ++i) {
    CAPTURE(logs[0].problems()[i].what);
    CHECK(logs[0].problems()[i].kind == BurstLogProblem::Kind::damaged);
    CHECK(logs[0].problems()[i].what.find(says[i]) != std::string::npos);
  }
}

TEST_CASE("a file that is not there, or is no netCDF file, is left alone") {
  World world(formats::Version::cdf5);
  write_logs(world, 1, 1, 3);
  auto logs = read_logs(world, 1);
  CHECK_THROWS_AS(replay_logs(world.memory, logs, "absent.nc"), IoError);
  world.memory.open("text.nc", OpenMode::create)
      ->write(0, bytes_of({'h', 'e', 'l', 'l', 'o', ',', ' ', 'y', 'o', 'u'}));
  CHECK_THROWS_AS(replay_logs(world.memory, logs, "text.nc"), FormatError);
  CHECK(world.memory.bytes("text.nc").size() == 10);
}
