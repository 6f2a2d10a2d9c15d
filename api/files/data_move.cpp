#include "data_move.hpp"

#include <algorithm>
#include <cstring>

#include "agreement.hpp"
#include "staging_window.hpp"

namespace sluice::api {
namespace {

using Part = DataMove::Part;

/// Appends to ascending parts, or lengthens the last part if the new one continues it. Ignores a part without
/// bytes.
void append(std::vector<Part>& parts, const Part& part) {
  if (part.length <= 0) return;
  if (!parts.empty() && parts.back().from + parts.back().length == part.from &&
      parts.back().to + parts.back().length == part.to) {
    parts.back().length += part.length;
  } else {
    parts.push_back(part);
  }
}

std::int64_t total_length(const std::vector<Part>& parts) noexcept {
  std::int64_t total = 0;
  for (const Part& part : parts) total += part.length;
  return total;
}

/// The variables of one section in the order of the old file, with the length of their data or of one record.
std::vector<Part> section(const formats::Header& old_header, const formats::Header& new_header,
                          bool of_records) {
  std::vector<Part> parts;
  for (int varid = 0; varid < old_header.variable_count(); ++varid) {
    if (old_header.is_record_variable(varid) != of_records) continue;
    const auto& variable = old_header.variable(varid);
    const auto bytes =
        old_header.elements_per_record(varid) * static_cast<std::int64_t>(formats::size_of(variable.type));
    parts.push_back({variable.begin, new_header.variable(varid).begin, bytes});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.from < b.from; });
  return parts;
}

/// Reads all parts one after the other into `bytes`.
void read_parts(const FileBytes& file, const std::vector<Part>& parts, std::byte* bytes) {
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t last = first + 1;
    std::int64_t length = parts[first].length;
    for (; last < parts.size() && parts[last].from == parts[first].from + length; ++last)
      length += parts[last].length;
    file.read(parts[first].from, {bytes, static_cast<std::size_t>(length)});
    bytes += length;
    first = last;
  }
}

/// Writes all parts, neighbours with small gaps together.
void write_parts(const FileBytes& file, const std::vector<Part>& parts, const std::byte* bytes,
                 std::int64_t gap_bytes, ByteBuffer& spread) {
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t last = first + 1;
    const auto end_of = [&](std::size_t i) { return parts[i].to + parts[i].length; };
    // A gap is bridged only if it is not much larger than the data. Records can overlap in a damaged file.
    const auto is_near = [&](std::int64_t gap, std::int64_t length) {
      return gap >= 0 && gap <= std::min(gap_bytes, 16 * length);
    };
    while (last < parts.size() && is_near(parts[last].to - end_of(last - 1), parts[last].length)) ++last;
    const std::int64_t begin = parts[first].to;
    const auto size = static_cast<std::size_t>(end_of(last - 1) - begin);
    if (last - first == 1) {
      file.write(begin, {bytes, size});
      bytes += size;
    } else {
      std::byte* to = spread.reserve(size);
      std::memset(to, 0, size);
      for (std::size_t i = first; i < last; ++i) {
        std::memcpy(to + (parts[i].to - begin), bytes, static_cast<std::size_t>(parts[i].length));
        bytes += parts[i].length;
      }
      file.write(begin, {to, size});
    }
    first = last;
  }
}

}  // namespace

DataMove::DataMove(const Side& before, const Side& after, std::int64_t file_bytes)
    : file_bytes_(file_bytes),
      record_count_(before.header.record_count),
      old_record_size_(before.layout.record_size),
      new_record_size_(after.layout.record_size) {
  for (Part part : section(before.header, after.header, false)) {
    part.length = std::min(part.length, file_bytes - part.from);
    // All parts after the first moved part are included: an unmoved part must not lie in a gap.
    if (part.from != part.to || !fixed_.empty()) append(fixed_, part);
  }
  const auto records = section(before.header, after.header, true);
  const bool records_move =
      old_record_size_ != new_record_size_ ||
      std::any_of(records.begin(), records.end(), [](const Part& p) { return p.from != p.to; });
  if (records_move && !records.empty() && records.front().from < file_bytes) {
    for (const Part& part : records) append(record_, part);
    record_count_ = std::min(record_count_, (file_bytes - 1 - records.front().from) / old_record_size_ + 1);
  } else {
    record_count_ = 0;
  }
  fixed_bytes_ = total_length(fixed_);
  record_bytes_ = total_length(record_);
  check_offsets();
}

void DataMove::check_offsets() const {
  if (record_.empty() || record_count_ == 0) return;
  std::int64_t end = 0;
  const bool overflows = __builtin_mul_overflow(record_count_ - 1, new_record_size_, &end) ||
                         __builtin_add_overflow(end, record_.back().to, &end) ||
                         __builtin_add_overflow(end, record_.back().length, &end);
  if (overflows) throw Error(NC_EINTOVERFLOW, "records of the file would be moved beyond 2^63 - 1 bytes");
}

std::vector<DataMove::Part> DataMove::parts(std::int64_t begin, std::int64_t end) const {
  std::vector<Part> result;
  // Appends the pieces of the parts that lie in [begin, end), shifted. The parts begin at `position` in the
  // stream.
  const auto append_within = [&](const std::vector<Part>& all, std::int64_t position, const Part& shift) {
    for (const Part& part : all) {
      const std::int64_t first = std::max(begin, position) - position;
      // The file may contain only a part of the last record.
      const std::int64_t in_file = file_bytes_ - part.from - shift.from;
      const std::int64_t last = std::min(std::min(end, position + part.length) - position, in_file);
      if (first < last)
        append(result, {part.from + shift.from + first, part.to + shift.to + first, last - first});
      position += part.length;
    }
  };
  if (begin < fixed_bytes_) append_within(fixed_, 0, {});
  if (record_bytes_ == 0) return result;
  const std::int64_t first_record = std::max<std::int64_t>(0, begin - fixed_bytes_) / record_bytes_;
  for (std::int64_t record = first_record; record < record_count_; ++record) {
    const std::int64_t position = fixed_bytes_ + record * record_bytes_;
    if (position >= end) break;
    append_within(record_, position, {record * old_record_size_, record * new_record_size_, 0});
  }
  return result;
}

void DataMove::run(const Communicator& comm, const FileBytes& file, std::int64_t chunk_bytes,
                   std::int64_t gap_bytes) const {
  ByteBuffer bytes;
  ByteBuffer spread;
  const std::int64_t round_bytes = chunk_bytes * comm.size();
  for (std::int64_t end = stream_bytes(); end > 0; end -= round_bytes) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - round_bytes);
    const std::int64_t mine_begin = std::min(end, begin + comm.rank() * chunk_bytes);
    const std::int64_t mine_end = std::min(end, mine_begin + chunk_bytes);
    std::vector<Part> mine;
    // No rank writes before all ranks have read: one rank's destination may be another rank's source.
    run_collectively(comm, [&] {
      mine = parts(mine_begin, mine_end);
      read_parts(file, mine, bytes.reserve(static_cast<std::size_t>(mine_end - mine_begin)));
    });
    run_collectively(comm, [&] { write_parts(file, mine, bytes.data(), gap_bytes, spread); });
  }
}

}  // namespace sluice::api
