#include "sluice/storage/log_round.hpp"

#include <algorithm>
#include <limits>

#include "sluice/formats/convert.hpp"

namespace sluice::storage {
namespace {

/// Bounds the memory for lists, and the number of entries that are sorted together.
constexpr std::size_t most_entries = 1 << 17;
constexpr std::int64_t most_entry_bytes = 32 << 20;

bool is_inside(const formats::HyperslabView& slab, const formats::Header& header, int varid,
               std::int64_t record_limit) {
  const auto& variable = header.variable(varid);
  for (std::size_t d = 0; d < slab.start.size(); ++d) {
    if (slab.count[d] == 0) continue;
    const auto& dimension = header.dimension(variable.dimids[d]);
    const std::int64_t length = dimension.is_record ? record_limit : dimension.length;
    std::int64_t last = 0;
    const bool overflows =
        __builtin_mul_overflow(slab.count[d] - 1, slab.stride_of(static_cast<int>(d)), &last) ||
        __builtin_add_overflow(last, slab.start[d], &last);
    if (overflows || last >= length) return false;
  }
  return true;
}

std::string type_mistake(formats::Type type, formats::Type variable_type, bool is_external) {
  const bool fits = is_external ? type == variable_type : !formats::mixes_text(type, variable_type);
  if (fits) return {};
  return std::string("the data is ") + formats::type_name(type) + ", but the variable is " +
         formats::type_name(variable_type);
}

}  // namespace

std::string entry_mistake(const formats::Header& header, const formats::Layout& layout,
                          const formats::BurstLogEntry& entry, bool is_external, std::int64_t most_records) {
  if (entry.varid >= header.variable_count())
    return "the entry names variable " + std::to_string(entry.varid) + ", but the file has " +
           std::to_string(header.variable_count()) + " variables";
  const auto& variable = header.variable(entry.varid);
  const auto prefix = [&] { return "the entry for variable '" + variable.name + "'"; };
  if (entry.dimensions != static_cast<int>(variable.dimids.size()))
    return prefix() + " has " + std::to_string(entry.dimensions) + " dimensions, but the variable has " +
           std::to_string(variable.dimids.size());
  if (const auto mistake = type_mistake(entry.type, variable.type, is_external); !mistake.empty())
    return prefix() + ": " + mistake;
  // The number of records whose offsets can be represented, including the end of the last one.
  const std::int64_t far = std::numeric_limits<std::int64_t>::max() - variable.begin;
  const std::int64_t record_limit = layout.record_size > 0 ? far / layout.record_size - 1 : 0;
  for (std::int64_t i = 0; i < entry.slab_count(); ++i) {
    if (entry.dimensions == 0) break;
    if (!is_inside(entry.slab(i), header, entry.varid, record_limit))
      return prefix() + " is not inside the variable";
  }
  if (const auto records = record_end(header, entry); records > most_records)
    return prefix() + " would make " + std::to_string(records) + " records, but at most " +
           std::to_string(most_records) + " are possible";
  return {};
}

std::int64_t record_end(const formats::Header& header, const formats::BurstLogEntry& entry) noexcept {
  if (!header.is_record_variable(entry.varid) || entry.dimensions == 0) return 0;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < entry.slab_count(); ++i) {
    const auto slab = entry.slab(i);
    if (slab.count[0] > 0) end = std::max(end, slab.end_of(0));
  }
  return end;
}

bool LogRounds::next() {
  take();
  return read(end_of_time);
}

/// The next entry that fits the dataset.
std::optional<formats::BurstLogEntry> LogRounds::next_entry() {
  if (!kept_.empty()) {
    std::optional<formats::BurstLogEntry> entry(std::move(kept_.front()));
    kept_.pop_front();
    return entry;
  }
  while (auto entry = reader_.next()) {
    const auto mistake = entry_mistake(header_, layout_, *entry, reader_.header().is_external, most_records_);
    if (mistake.empty()) {
      // Within one process the later put takes precedence, whatever its clock.
      if (entry->clock) entry->clock = clock_ = std::max(clock_, *entry->clock);
      return entry;
    }
    reader_.report_damage(reader_.entry_index(), reader_.entry_offset(),
                          "an entry that does not fit the file: " + mistake);
  }
  is_at_end_ = true;
  return std::nullopt;
}

void LogRounds::take() {
  entries_.clear();
  accesses_.clear();
  slabs_.clear();
  data_bytes_ = 0;
  std::int64_t entry_bytes = 0;
  while (auto entry = next_entry()) {
    const bool is_full = entry->data_bytes > budget_bytes_ - data_bytes_ || entries_.size() >= most_entries ||
                         entry_bytes >= most_entry_bytes;
    if (is_full && !entries_.empty()) {
      kept_.push_front(std::move(*entry));
      return;
    }
    data_bytes_ += entry->data_bytes;
    entry_bytes += entry->size_bytes;
    entries_.push_back(std::move(*entry));
  }
}

bool LogRounds::read(const PutTime& horizon) {
  while (!entries_.empty() && last_time() > horizon) {
    data_bytes_ -= entries_.back().data_bytes;
    kept_.push_front(std::move(entries_.back()));
    entries_.pop_back();
  }
  if (entries_.empty()) return false;
  read_data();
  make_accesses();
  return true;
}

void LogRounds::read_data() {
  if (data_bytes_ > data_capacity_) {
    data_.reset();
    data_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(data_bytes_));
    data_capacity_ = data_bytes_;
  }
  std::int64_t at = 0;
  for (std::size_t first = 0; first < entries_.size();) {
    // Reads adjacent data of the data log in one call.
    const std::int64_t begin = entries_[first].data_offset;
    std::int64_t end = begin;
    std::size_t next = first;
    while (next < entries_.size() && entries_[next].data_offset == end) end += entries_[next++].data_bytes;
    reader_.read_data(begin, {data_.get() + at, static_cast<std::size_t>(end - begin)});
    at += end - begin;
    first = next;
  }
}

void LogRounds::make_accesses() {
  const auto& log = reader_.header();
  constexpr bool is_native_big = std::endian::native == std::endian::big;
  std::size_t slab_count = 0;
  for (const auto& entry : entries_)
    slab_count += entry.dimensions == 0 ? 1 : static_cast<std::size_t>(entry.slab_count());
  slabs_.reserve(slab_count);  // accesses refer to these slabs
  std::byte* at = data_.get();
  for (const auto& entry : entries_) {
    const auto element_bytes = static_cast<std::int64_t>(formats::size_of(entry.type));
    Access access;
    access.varid = entry.varid;
    access.memory = entry.type;
    access.is_file_order = log.is_external;
    access.elements = entry.data_bytes / element_bytes;
    access.buffer = at;
    if (!log.is_external && log.is_big_endian != is_native_big)
      formats::copy_swapped(at, at, static_cast<std::size_t>(element_bytes), access.elements);
    at += entry.data_bytes;
    const std::size_t first = slabs_.size();
    if (entry.dimensions == 0) {
      // A scalar has only one element, so the last value of a list takes precedence.
      access.buffer = at - element_bytes;
      access.elements = 1;
      slabs_.emplace_back();
    } else {
      for (std::int64_t i = 0; i < entry.slab_count(); ++i) slabs_.push_back(entry.slab(i));
    }
    access.slabs = std::span(slabs_).subspan(first);
    accesses_.push_back(access);
  }
}

}  // namespace sluice::storage
