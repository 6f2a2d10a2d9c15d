// Damage in a log's header or entries: either the file has the puts unchanged, or the damage is reported.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "burst_log_world.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/burst_log_entries.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/recovery.hpp"

using namespace sluice;
using namespace sluice::storage;
using formats::Type;

namespace {

constexpr std::int64_t columns = 3;
constexpr int processes = 3;
constexpr int rows_of_each = 3;

/// byte rows(record, 3)
formats::Header dataset_header() {
  formats::Header header;
  header.version = formats::Version::cdf5;
  header.add_dimension({"record", 0, true});
  header.add_dimension({"column", columns, false});
  formats::Variable rows;
  rows.name = "rows";
  rows.type = Type::int8;
  rows.dimids = {0, 1};
  header.add_variable(rows);
  formats::compute_layout(header, {}, nullptr);
  return header;
}

std::string path_of(int rank, const std::string& suffix = ".meta") {
  return "d/a.nc_0_" + std::to_string(rank) + suffix;
}

/// A file without records, and logs of three processes. Each process has its own rows.
void write_world(MemoryFileSystem& files) {
  files.open("d/a.nc", OpenMode::create)->write(0, formats::encode_header(dataset_header()));
  for (int rank = 0; rank < processes; ++rank) {
    auto header = log_header("d/a.nc", rank);
    header.process_count = processes;
    BurstLogWriter writer(files, burst_log_paths_of(path_of(rank)), header, BurstLogWriter::Existing::refuse);
    for (int i = 0; i < rows_of_each; ++i) {
      const std::int64_t record = i * processes + rank;
      const int value = 1 + static_cast<int>(record);
      append(writer, {0, Type::int8, {{{record, 0}, {1, columns}, {}}}, bytes_of({value, value, value})});
    }
    writer.commit();
    writer.close();
  }
}

/// The report of recovery, and the file.
struct Outcome {
  bool is_told = false;
  std::vector<std::byte> file;
  std::map<std::int64_t, int> rows;  ///< existing rows, by record
};

Outcome recover(MemoryFileSystem& files) {
  Outcome outcome;
  const auto found = find_logs(files, "d");
  outcome.is_told = !found.unreadable.empty() || found.groups.size() != 1;
  for (const auto& group : found.groups) {
    outcome.is_told = outcome.is_told || !group.damage.empty();
    try {
      const auto recovery = recover_file(files, group, group.netcdf_path);
      outcome.is_told = outcome.is_told || !recovery.problems.empty();
    } catch (const Error&) {
      outcome.is_told = true;
    }
  }
  outcome.file = files.bytes("d/a.nc");
  const auto header = read_header(*files.open("d/a.nc", OpenMode::read)).decoded.header;
  for (std::int64_t record = 0; record < std::min<std::int64_t>(header.record_count, 100); ++record) {
    const auto at = static_cast<std::size_t>(header.variable(0).begin + record * columns);
    if (at < outcome.file.size() && outcome.file[at] != std::byte{0})
      outcome.rows[record] = std::to_integer<int>(outcome.file[at]);
  }
  return outcome;
}

/// The rows of the processes with undamaged logs.
bool has_rows_of_others(const Outcome& outcome, int damaged) {
  for (std::int64_t record = 0; record < processes * rows_of_each; ++record) {
    if (record % processes == damaged) continue;
    const auto row = outcome.rows.find(record);
    if (row == outcome.rows.end() || row->second != 1 + record) return false;
  }
  return true;
}

/// A damaged record number that the file system can hold could be a real put.
constexpr std::size_t room_bits = 12;
constexpr std::int64_t room_bytes = (std::int64_t{1} << room_bits) * columns;

bool may_be_meant(std::size_t field, std::size_t bit) {
  return field >= 40 && field < 48 && bit < room_bits;
}

}  // namespace

TEST_CASE(
    "whatever bit of a log is another, the file is the same or it is told, and other logs are recovered") {
  MemoryFileSystem sound;
  write_world(sound);
  const auto expected = recover(sound);
  REQUIRE_FALSE(expected.is_told);
  const auto metadata = sound.bytes(path_of(1));
  const auto header = formats::decode_burst_log_header(metadata, std::ssize(metadata), "log");
  const auto begin = static_cast<std::size_t>(header->entry_begin);
  const auto entry_bytes = (metadata.size() - begin) / rows_of_each;
  std::size_t changes = 0;
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    for (std::size_t bit = 0; bit < 8; ++bit) {
      CAPTURE(i);
      CAPTURE(bit);
      MemoryFileSystem files;
      files.capacity = room_bytes;
      write_world(files);
      files.bytes(path_of(1))[i] ^= static_cast<std::byte>(1 << bit);
      const auto outcome = recover(files);
      const std::size_t field = i < begin ? 0 : (i - begin) % entry_bytes;
      const auto field_bit = 8 * (field % 8) + bit;
      if (i >= begin && may_be_meant(field, field_bit)) continue;
      CHECK((outcome.is_told || outcome.file == expected.file));
      // The damaged path may be another file's; then this file lacks the log.
      CHECK(has_rows_of_others(outcome, 1));
      ++changes;
    }
  }
  CHECK(changes > 2000);
}

TEST_CASE("whatever bit of a step mark, or of the step before, is another, it is told") {
  const auto write = [](MemoryFileSystem& files) {
    files.open("d/a.nc_0123456789abcdef_0.header", OpenMode::create)
        ->write(0, formats::encode_header(dataset_header()));
    auto header = log_header("d/a.nc", 0);
    header.is_external = false;
    header.step = {9, 3, 7};
    header.identity = {1, 2, 0x0123456789abcdef};
    const auto data = files.open("d/a.nc_0123456789abcdef_0.data", OpenMode::create);
    data->write(0, std::as_bytes(std::span(formats::burst_log_magic)));
    data->write(4096, bytes_of({1, 2, 3}));
    BurstLogEntries entries(files.open("d/a.nc_0123456789abcdef_0.meta", OpenMode::create), header);
    entries.begin_step({11, 0});
    const std::array<std::int64_t, 2> start{0, 0};
    const std::array<std::int64_t, 2> count{1, columns};
    const formats::HyperslabView slab{start, count, {}};
    entries.add({Type::int8, 0, std::span(&slab, 1), 4096, columns, 100});
    entries.commit();
    entries.close();
    return entries.extent().end_bytes;
  };
  MemoryFileSystem sound;
  const auto end = static_cast<std::size_t>(write(sound));
  const auto expected = recover(sound);
  REQUIRE_FALSE(expected.is_told);
  REQUIRE(expected.rows == std::map<std::int64_t, int>{{0, 1}});
  constexpr std::size_t mark_bytes = 48;
  constexpr std::size_t base_bytes = 24;
  constexpr std::size_t entry_bytes = 96;
  const std::size_t mark = end - entry_bytes - mark_bytes;
  for (std::size_t i = mark - base_bytes + 8; i < mark + mark_bytes; ++i) {
    for (std::size_t bit = 0; bit < 8; ++bit) {
      CAPTURE(i - mark);
      CAPTURE(bit);
      MemoryFileSystem files;
      (void)write(files);
      files.bytes("d/a.nc_0123456789abcdef_0.meta")[i] ^= static_cast<std::byte>(1 << bit);
      const auto found = find_logs(files, "d");
      bool is_told = !found.unreadable.empty();
      for (const auto& group : found.groups)
        is_told = is_told || !recover_file(files, group, group.netcdf_path).problems.empty();
      CHECK(is_told);
    }
  }
}

TEST_CASE("a record number that cannot be is damage of its entry, and everything else is recovered") {
  for (int bit = room_bits; bit < 63; ++bit) {
    CAPTURE(bit);
    MemoryFileSystem files;
    files.capacity = room_bytes;
    write_world(files);
    auto& metadata = files.bytes(path_of(1));
    const auto header = formats::decode_burst_log_header(metadata, std::ssize(metadata), "log");
    const auto start = static_cast<std::size_t>(header->entry_begin) + 40;  // in the first entry: record 1
    metadata[start + static_cast<std::size_t>(bit / 8)] ^= static_cast<std::byte>(1 << bit % 8);
    const auto outcome = recover(files);
    CHECK(outcome.is_told);
    CHECK(outcome.rows.size() == processes * rows_of_each - 1);
    CHECK_FALSE(outcome.rows.contains(1));
  }
}

TEST_CASE("where there is room for it, a record far beyond all others is damage from 2^31 on") {
  MemoryFileSystem files;
  files.capacity = std::int64_t{1} << 62;
  write_world(files);
  auto& metadata = files.bytes(path_of(1));
  const auto header = formats::decode_burst_log_header(metadata, std::ssize(metadata), "log");
  metadata[static_cast<std::size_t>(header->entry_begin) + 45] = std::byte{1};  // 2^40
  const auto outcome = recover(files);
  CHECK(outcome.is_told);
  CHECK(outcome.rows.size() == processes * rows_of_each - 1);
}

TEST_CASE("data that is where another put's is, or behind a hole, is damage of its entry") {
  for (const int offset :
       {8, 9, 10, 12, 13, 15}) {  // in the second of three entries; the number of entries is at 11
    CAPTURE(offset);
    MemoryFileSystem files;
    write_world(files);
    auto& metadata = files.bytes(path_of(1));
    const auto header = formats::decode_burst_log_header(metadata, std::ssize(metadata), "log");
    const auto second = static_cast<std::size_t>(header->entry_begin) + 40 + 24 * 2;
    REQUIRE(metadata[second + 24] == std::byte{11});
    metadata[second + 24] = static_cast<std::byte>(offset);
    const auto outcome = recover(files);
    CHECK(outcome.is_told);
    CHECK(outcome.rows.size() == processes * rows_of_each - 1);
    CHECK_FALSE(outcome.rows.contains(4));
  }
}
