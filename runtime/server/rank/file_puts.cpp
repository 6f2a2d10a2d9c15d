#include "file_puts.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
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

std::uint64_t bytes_of(const formats::Header& header, const FilePuts::Put& put) noexcept {
  return static_cast<std::uint64_t>(box_of(put).elements()) *
         formats::size_of(header.variable(put.varid).type);
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
  entry.length_bytes = puts.data_bytes;
  entry.segment_id = segment;
  return entry;
}

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void add_puts(FilePuts& puts) {
  const formats::Header& header = puts.header;
  matcher::LogPatternBuilder pattern(0);
  matcher::TableEntry place = place_of_data(puts, 0);
  puts.table_bytes = sizeof(std::uint64_t) + matcher::TableWriter::entry_bytes(place);
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    FilePuts::Put put{varid, aligned(puts.data_bytes), {}, header.shape(varid)};
    put.start.assign(put.count.size(), 0);
    const formats::HyperslabView box = box_of(put);
    if (box.elements() == 0) continue;
    const bool has_records = header.is_record_variable(varid);
    pattern.add({varid, has_records, false, put.log_offset, header.variable(varid).dimids},
                matcher::summarize(std::span(&box, 1), has_records));
    puts.table_bytes += matcher::TableWriter::entry_bytes(entry_of(put, 0));
    puts.data_bytes = put.log_offset + bytes_of(header, put);
    puts.puts.push_back(std::move(put));
  }
  puts.pattern = pattern.pattern();
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
    if (!decoded) return std::nullopt;
    FilePuts puts;
    puts.header = std::move(decoded->header);
    puts.layout = formats::layout_of(puts.header, decoded->size_bytes);
    add_puts(puts);
    return puts;
  } catch (const Error& error) {
    trouble = error.what();
    return std::nullopt;
  }
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
