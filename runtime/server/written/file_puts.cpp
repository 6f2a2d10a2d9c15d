#include "file_puts.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/request_table.hpp"

namespace sluice::runtime {

namespace {

constexpr std::uint64_t alignment = 64;

std::uint64_t aligned(std::uint64_t bytes) noexcept {
  return (bytes + alignment - 1) & ~(alignment - 1);
}

formats::HyperslabView box_of(const FilePuts::Put& put) noexcept {
  return {put.start, put.count, {}};
}

/// No file is as large; sums of a few such numbers have room in 64 bits.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60;

bool is_empty(const FilePuts::Put& put) noexcept {
  return std::ranges::find(put.count, 0) != put.count.end();
}

/// The numbers are the file's, and may be anything. Throws Error.
std::uint64_t bytes_of(const formats::Header& header, const FilePuts::Put& put) {
  std::uint64_t bytes = formats::size_of(header.variable(put.varid).type);
  for (const std::int64_t count : put.count) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(count), &bytes) || bytes > most_bytes) {
      throw Error(NC_EVARSIZE, "the variable " + header.variable(put.varid).name +
                                   " is larger than any file, by the numbers in the header");
    }
  }
  return bytes;
}

matcher::TableEntry entry_of(const FilePuts::Put& put, std::uint64_t sequence) noexcept {
  matcher::TableEntry entry;
  entry.kind = matcher::EntryKind::request;
  entry.varid = put.varid;
  entry.sequence = sequence;
  entry.log_offset = put.log_offset;
  entry.box = box_of(put);
  return entry;
}

matcher::TableEntry place_of_data(const FilePuts& puts, std::uint64_t segment) noexcept {
  matcher::TableEntry entry;
  entry.kind = matcher::EntryKind::segment;
  entry.log_offset = puts.first_offset;
  entry.length_bytes = puts.data_bytes;
  entry.segment_id = segment;
  return entry;
}

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// Each variable as a whole, one behind the other.
void add_ordinary_puts(FilePuts& puts) {
  const formats::Header& header = puts.header;
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    FilePuts::Put put{varid, aligned(puts.data_bytes), {}, header.shape(varid)};
    put.start.assign(put.count.size(), 0);
    if (is_empty(put)) continue;
    puts.data_bytes = put.log_offset + bytes_of(header, put);
    if (puts.data_bytes > most_bytes) throw Error(NC_EVARSIZE, "its variables are larger than any file");
    puts.puts.push_back(std::move(put));
  }
}

/// What lies side by side in the file. False: the file is too short for its header, or has too many pieces.
bool add_puts_of_file(FilePuts& puts, std::uint64_t file_bytes) {
  constexpr std::size_t most_puts = 4096;  // the matcher looks at each
  const formats::Header& header = puts.header;
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const formats::Variable& variable = header.variable(varid);
    FilePuts::Put put{varid, 0, {}, header.shape(varid)};
    put.start.assign(put.count.size(), 0);
    if (is_empty(put)) continue;
    std::int64_t pieces = 1;
    if (header.is_record_variable(varid)) {
      const std::uint64_t record_bytes =
          bytes_of(header, put) / static_cast<std::uint64_t>(put.count.front());
      const bool are_side_by_side = static_cast<std::uint64_t>(puts.layout.record_size) == record_bytes;
      if (!are_side_by_side) pieces = std::exchange(put.count.front(), 1);
    }
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t begin = variable.begin + piece * puts.layout.record_size;
      const std::uint64_t bytes = bytes_of(header, put);
      const bool is_there =
          begin >= 0 && bytes <= file_bytes && static_cast<std::uint64_t>(begin) <= file_bytes - bytes;
      if (!is_there || puts.puts.size() == most_puts) return false;
      put.log_offset = matcher::first_offset_of_file + static_cast<std::uint64_t>(begin);
      if (pieces > 1) put.start.front() = piece;
      puts.puts.push_back(put);
    }
  }
  return true;
}

void describe(FilePuts& puts) {
  const formats::Header& header = puts.header;
  matcher::LogPatternBuilder pattern(0);
  puts.table_bytes = sizeof(std::uint64_t) + matcher::TableWriter::entry_bytes(place_of_data(puts, 0));
  for (const FilePuts::Put& put : puts.puts) {
    const formats::HyperslabView box = box_of(put);
    const bool has_records = header.is_record_variable(put.varid);
    pattern.add({put.varid, has_records, false, put.log_offset, header.variable(put.varid).dimids},
                matcher::summarize(std::span(&box, 1), has_records));
    puts.table_bytes += matcher::TableWriter::entry_bytes(entry_of(put, 0));
  }
  puts.pattern = pattern.pattern();
  puts.extent = pattern.extent();
  puts.pattern.last_put = now_ns();
}

/// Copies elements from `offset` of the file on; zeros behind its end.
void copy_elements(std::span<const std::byte> file, std::uint64_t offset, std::byte* to, std::size_t size,
                   std::int64_t elements) {
  const std::uint64_t there = offset < file.size() ? (file.size() - offset) / size : 0;
  const auto whole = std::min(static_cast<std::int64_t>(there), elements);
  formats::copy_ordered(to, file.data() + std::min<std::uint64_t>(offset, file.size()), size, whole,
                        formats::ByteOrder::big);
  const std::size_t copied = static_cast<std::size_t>(whole) * size;
  std::memset(to + copied, 0, static_cast<std::size_t>(elements) * size - copied);
}

}  // namespace

std::optional<FilePuts> puts_of(std::span<const std::byte> file, const std::string& name,
                                std::string& trouble) {
  try {
    auto decoded = formats::decode_header(file, true, static_cast<std::int64_t>(file.size()), name);
    if (!decoded) throw FormatError(NC_ENOTNC, name, file.size(), "the header ends here");
    FilePuts puts;
    puts.header = std::move(decoded->header);
    puts.layout = formats::layout_of(puts.header, decoded->size_bytes);
    puts.is_log = file.size() >= matcher::least_bytes_of_file_log && add_puts_of_file(puts, file.size());
    if (!puts.is_log) return with_ordinary_log(puts);
    puts.first_offset = matcher::first_offset_of_file;
    puts.data_bytes = file.size();
    describe(puts);
    return puts;
  } catch (const Error& error) {
    trouble = error.what();
    return std::nullopt;
  }
}

FilePuts with_ordinary_log(const FilePuts& puts) {
  FilePuts ordinary;
  ordinary.header = puts.header;
  ordinary.layout = puts.layout;
  add_ordinary_puts(ordinary);
  describe(ordinary);
  return ordinary;
}

TablePosition write_table(const FilePuts& puts, std::uint64_t data, std::span<std::byte> table) {
  matcher::TableWriter writer(table);
  bool has_room = puts.puts.empty() || writer.append(place_of_data(puts, data));
  for (const FilePuts::Put& put : puts.puts)
    has_room = has_room && writer.append(entry_of(put, puts.pattern.last_put));
  if (!has_room) throw Error(NC_EIO, "a segment is too small for the requests of a file");
  writer.commit();
  return {1, writer.used_bytes(), 0};
}

void write_data(const FilePuts& puts, std::span<const std::byte> file, std::span<std::byte> data) {
  if (data.size() < puts.data_bytes) throw Error(NC_EIO, "a segment is too small for the data of a file");
  for (const FilePuts::Put& put : puts.puts) {
    const formats::Variable& variable = puts.header.variable(put.varid);
    const std::size_t size = formats::size_of(variable.type);
    const bool has_records = puts.header.is_record_variable(put.varid);
    const std::int64_t pieces = has_records ? put.count.front() : 1;
    const std::int64_t elements = puts.header.elements_per_record(put.varid);
    std::byte* to = data.data() + put.log_offset;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t offset = variable.begin + piece * puts.layout.record_size;
      copy_elements(file, static_cast<std::uint64_t>(offset), to, size, elements);
      to += static_cast<std::size_t>(elements) * size;
    }
  }
}

}  // namespace sluice::runtime
