// Entries of burst-buffer logs. Their header is in burst_log_header.cpp.
#include "sluice/formats/burst_log.hpp"

#include <algorithm>
#include <cstring>

#include "burst_log_fields.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::formats {
namespace {

/// Codes of itype by external type, in the order of Type.
constexpr std::array<int, type_count> type_codes{0, 2, 1, 4, 6, 8, 9, 3, 5, 7, 10, 11};
constexpr int long_code = 13;  // an undocumented code of PnetCDF

[[noreturn]] void fail(std::string_view path, std::int64_t offset, const std::string& what) {
  throw FormatError(NC_EFILE, std::string(path), static_cast<std::uint64_t>(offset), what);
}

/// The total length of the arrays.
std::int64_t number_count(const BurstLogEntry& entry) noexcept {
  return (entry.size_bytes - burst_entry_fixed_bytes - (entry.clock ? burst_entry_clock_bytes : 0)) / 8;
}

/// The number of arrays with ndims numbers after the fixed part: one or two for each hyperslab, and three for
/// a single one.
std::int64_t array_count(const BurstLogEntry& entry) noexcept {
  if (entry.dimensions == 0) return 0;
  return number_count(entry) / entry.dimensions;
}

/// The mismatch between an entry's size and its kind; empty if they match.
std::string size_mistake(const BurstLogEntry& entry) {
  if (entry.api_kind == 0 || entry.api_kind < burst_vars)
    return "an entry of the unknown kind " + std::to_string(entry.api_kind);
  if (entry.dimensions < 0) return "an entry of " + std::to_string(entry.dimensions) + " dimensions";
  const std::int64_t numbers = number_count(entry);
  const bool is_whole = entry.dimensions == 0 || numbers % entry.dimensions == 0;
  const std::int64_t arrays = array_count(entry);
  const std::int64_t slabs = entry.slab_count();
  bool fits = is_whole && entry.size_bytes % 8 == 0;
  if (entry.dimensions == 0) {
    fits = fits && numbers == 0;
  } else if (entry.api_kind > 0) {
    fits = fits && (arrays == slabs || arrays == 2 * slabs);
  } else {
    const std::int64_t least = entry.api_kind == burst_vars ? 3 : entry.api_kind == burst_var1 ? 1 : 2;
    fits = fits && arrays >= least && arrays <= 3;
  }
  if (fits) return {};
  return "an entry of " + std::to_string(entry.size_bytes) + " bytes cannot hold " + std::to_string(slabs) +
         " hyperslabs of " + std::to_string(entry.dimensions) + " dimensions";
}

/// The field `itype` of a step mark: a change of one bit in the mark is noticed.
std::int32_t check_code(const BurstLogStepMark& mark) noexcept {
  const auto all = static_cast<std::uint64_t>(mark.step) ^ static_cast<std::uint64_t>(mark.header_begin);
  constexpr std::uint64_t mark_code = 0x536C4D6B;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(all ^ all >> 32 ^ mark_code));
}

/// A step mark has the fields of a withdrawn put of no variable.
bool is_step_mark(const BurstLogEntry& entry) noexcept {
  return entry.clock && entry.is_withdrawn() && entry.api_kind == burst_var;
}

std::int64_t selected_bytes_of(const BurstLogEntry& entry) noexcept {
  std::int64_t total = 0;
  if (entry.type == Type::nat) return -1;
  if (entry.dimensions == 0) return entry.slab_count() * static_cast<std::int64_t>(size_of(entry.type));
  for (std::int64_t i = 0; i < entry.slab_count(); ++i) {
    auto bytes = static_cast<std::int64_t>(size_of(entry.type));
    const auto slab = entry.slab(i);
    for (std::size_t d = 0; d < slab.start.size(); ++d) {
      if (slab.start[d] < 0 || slab.count[d] < 0 || slab.stride_of(static_cast<int>(d)) < 1) return -1;
      if (__builtin_mul_overflow(bytes, slab.count[d], &bytes)) return -1;
    }
    if (__builtin_add_overflow(total, bytes, &total)) return -1;
  }
  return total;
}

void take_arrays(BurstFields& fields, BurstLogEntry& entry) {
  const auto numbers =
      static_cast<std::size_t>(entry.slab_count()) * static_cast<std::size_t>(entry.dimensions);
  const std::int64_t arrays = array_count(entry);
  const auto take = [&](std::vector<std::int64_t>& to, std::size_t n) {
    to.resize(n);
    for (auto& number : to) number = fields.take_int64();
  };
  take(entry.starts, numbers);
  if (arrays >= 2 * entry.slab_count()) {
    take(entry.counts, numbers);
  } else {
    entry.counts.assign(numbers, 1);
  }
  if (entry.api_kind == burst_vars) take(entry.strides, static_cast<std::size_t>(entry.dimensions));
}

}  // namespace

int burst_type_code(Type type) noexcept {
  return type_codes[static_cast<std::size_t>(type)];
}

Type burst_type_of_code(int code) noexcept {
  if (code == long_code) return Type::int64;
  const auto found = std::find(type_codes.begin() + 1, type_codes.end(), code);
  return found == type_codes.end() ? Type::nat : static_cast<Type>(found - type_codes.begin());
}

HyperslabView BurstLogEntry::slab(std::int64_t i) const noexcept {
  const auto n = static_cast<std::size_t>(dimensions);
  const auto first = static_cast<std::size_t>(i) * n;
  return {std::span(starts).subspan(first, n), std::span(counts).subspan(first, n), strides};
}

std::int64_t BurstLogEntry::selected_bytes() const noexcept {
  return selected_bytes_of(*this);
}

std::int64_t burst_log_entry_size(const BurstLogPut& put) noexcept {
  const std::int64_t arrays = put.slabs.size() == 1 ? 3 : 2 * static_cast<std::int64_t>(put.slabs.size());
  return burst_entry_fixed_bytes + 8 * arrays * put.slabs.front().dimensions() +
         (put.clock ? burst_entry_clock_bytes : 0);
}

void encode_burst_log_entry(const BurstLogPut& put, std::vector<std::byte>& bytes) {
  const bool is_list = put.slabs.size() > 1;
  const auto& first = put.slabs.front();
  const auto size = static_cast<std::size_t>(burst_log_entry_size(put));
  if (bytes.capacity() - bytes.size() < size) bytes.reserve(2 * bytes.size() + size);
  BurstFieldWriter fields(bytes);
  fields.put_int64(static_cast<std::int64_t>(size));
  const int single_kind = first.stride.empty() ? burst_vara : burst_vars;
  fields.put_int32(is_list ? static_cast<std::int32_t>(put.slabs.size()) : single_kind);
  fields.put_int32(burst_type_code(put.type));
  fields.put_int32(put.varid);
  fields.put_int32(first.dimensions());
  fields.put_int64(put.data_offset);
  fields.put_int64(put.data_bytes);
  for (const auto& slab : put.slabs) fields.put_all(slab.start);
  for (const auto& slab : put.slabs) fields.put_all(slab.count);
  // As in PnetCDF, entries of single hyperslabs always have strides; zeros mean none.
  for (int d = 0; !is_list && d < first.dimensions(); ++d)
    fields.put_int64(first.stride.empty() ? 0 : first.stride_of(d));
  if (put.clock) fields.put_int64(*put.clock);
}

void encode_burst_log_step_mark(const BurstLogStepMark& mark, std::vector<std::byte>& bytes) {
  BurstFieldWriter fields(bytes);
  fields.put_int64(burst_entry_fixed_bytes + burst_entry_clock_bytes);
  fields.put_int32(burst_var);
  fields.put_int32(check_code(mark));
  fields.put_int32(-1);  // no variable
  fields.put_int32(0);
  fields.put_int64(mark.step);
  fields.put_int64(0);
  fields.put_int64(mark.header_begin);
}

std::int64_t decode_burst_log_entry_size(std::span<const std::byte, 8> bytes, bool is_big_endian) noexcept {
  return BurstFields(bytes, is_big_endian).take_int64();
}

BurstLogEntry decode_burst_log_entry(std::span<const std::byte> bytes, const BurstLogHeader& header,
                                     std::int64_t offset_bytes, std::string_view path) {
  if (static_cast<std::int64_t>(bytes.size()) < burst_entry_fixed_bytes)
    fail(path, offset_bytes, "an entry of " + std::to_string(bytes.size()) + " bytes is too short for one");
  BurstFields fields(bytes, header.is_big_endian);
  BurstLogEntry entry;
  entry.size_bytes = fields.take_int64();
  if (entry.size_bytes != static_cast<std::int64_t>(bytes.size()))
    fail(path, offset_bytes, "an entry that says it has " + std::to_string(entry.size_bytes) + " bytes");
  entry.api_kind = fields.take_int32();
  const int code = fields.take_int32();
  entry.type = burst_type_of_code(code);
  entry.is_long = code == long_code;
  entry.varid = fields.take_int32();
  entry.dimensions = fields.take_int32();
  entry.data_offset = fields.take_int64();
  entry.data_bytes = fields.take_int64();
  if (header.step) entry.clock = BurstFields(bytes.last(8), header.is_big_endian).take_int64();
  if (const auto mistake = size_mistake(entry); !mistake.empty()) fail(path, offset_bytes, mistake);
  take_arrays(fields, entry);
  if (is_step_mark(entry)) {
    entry.mark = BurstLogStepMark{entry.data_offset, *entry.clock};
    if (entry.varid != -1 || entry.dimensions != 0 || code != check_code(*entry.mark))
      fail(path, offset_bytes, "an entry that begins a step, and contradicts itself");
  }
  if (entry.mark || (entry.is_withdrawn() && (!header.step || entry.varid >= 0))) return entry;
  if (entry.type == Type::nat)
    fail(path, offset_bytes, "an entry whose data is of the unknown type " + std::to_string(code));
  if (entry.varid < 0) fail(path, offset_bytes, "an entry of the variable " + std::to_string(entry.varid));
  if (entry.data_offset < burst_data_begin)
    fail(path, offset_bytes, "an entry whose data begins at byte " + std::to_string(entry.data_offset));
  const std::int64_t selected = entry.selected_bytes();
  if (selected < 0) fail(path, offset_bytes, "an entry whose selection makes no sense");
  if (selected != entry.data_bytes)
    fail(path, offset_bytes,
         "an entry that selects " + std::to_string(selected) + " bytes and has " +
             std::to_string(entry.data_bytes));
  return entry;
}

}  // namespace sluice::formats
