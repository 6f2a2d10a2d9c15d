#include "pending_puts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sluice/storage/element_codec.hpp"

namespace sluice::api {
namespace {

using storage::ElementCodec;
using storage::Extent;

void append_run(PendingPuts::Part& part, const formats::ElementRun& run) {
  auto& runs = part.runs;
  if (!runs.empty() && runs.back().offset + runs.back().length == run.offset) {
    runs.back().length += run.length;
    return;
  }
  if (!runs.empty() && run.offset < runs.back().offset + runs.back().length) part.is_ascending = false;
  runs.push_back(run);
}

/// Sorts the runs. If an element was put several times, the last value wins.
void sort_part(PendingPuts::Part& part, std::size_t element_bytes) {
  std::vector<Extent> extents;
  std::int64_t position = 0;
  for (const auto& run : part.runs) {
    extents.push_back({run.offset, run.length, position, 0, 1});
    position += run.length;
  }
  storage::sort_extents(extents);
  if (storage::has_overlaps(extents)) storage::remove_overlaps(extents);
  PendingPuts::Part sorted;
  sorted.bytes.reserve(part.bytes.size());
  for (const Extent& extent : extents) {
    append_run(sorted, {extent.offset_bytes, extent.elements});
    const auto* const from =
        part.bytes.data() + static_cast<std::size_t>(extent.first_element) * element_bytes;
    sorted.bytes.insert(sorted.bytes.end(), from,
                        from + static_cast<std::size_t>(extent.elements) * element_bytes);
  }
  part = std::move(sorted);
}

}  // namespace

/// Calls visit(record, run, first element in the access's buffer) in the order of the elements.
template <class Visit>
void PendingPuts::for_each_run(const formats::Header& header, const Access& access,
                               const Visit& visit) const {
  const bool has_records = header.is_record_variable(access.varid);
  const formats::PlainPlace place = place_of(access.varid);
  std::vector<formats::FileRun> runs;
  std::int64_t element = 0;
  for (const auto& slab : access.slabs) {
    if (slab.elements() == 0) continue;
    const std::size_t skipped = has_records ? 1 : 0;
    const formats::HyperslabView within{slab.start.subspan(skipped), slab.count.subspan(skipped),
                                        slab.stride.empty() ? slab.stride : slab.stride.subspan(skipped)};
    runs.clear();
    if (const auto run = place.single_run(within))
      runs.push_back(*run);
    else
      place.append(within, runs);
    const std::int64_t records = has_records ? slab.count[0] : 1;
    for (std::int64_t i = 0; i < records; ++i) {
      const std::int64_t record = has_records ? slab.start[0] + i * slab.stride_of(0) : 0;
      for (const auto& run : runs) {
        visit(record, formats::ElementRun{run.offset_bytes, run.length_bytes}, element);
        element += run.length_bytes;
      }
    }
  }
}

void PendingPuts::Call::add(Access& access) {
  if (const Pattern* const pattern = pattern_of(access)) {
    Part& part = puts_.parts_[{access.varid, pattern->record, number_}];
    if (part.runs.empty()) return add_by_pattern(access, *pattern, part);
  }
  add_in_order(access);
}

const PendingPuts::Call::Pattern* PendingPuts::Call::pattern_of(const Access& access) {
  constexpr std::size_t worthwhile_slabs = 16;
  constexpr std::size_t most_patterns = 4;
  if (access.slabs.size() < worthwhile_slabs) return nullptr;
  const auto place = puts_.place_of(access.varid);
  const bool has_records = header_.is_record_variable(access.varid);
  for (const Pattern& pattern : patterns_) {
    const bool is_same = pattern.slabs == access.slabs.data() && pattern.has_records == has_records &&
                         pattern.place.is_shaped_as(place);
    if (is_same) return &pattern;
  }
  auto made = make_pattern(access);
  if (!made) return nullptr;
  if (patterns_.size() == most_patterns) patterns_.pop_front();
  return &patterns_.emplace_back(std::move(*made));
}

std::optional<PendingPuts::Call::Pattern> PendingPuts::Call::make_pattern(const Access& access) const {
  Pattern pattern{access.slabs.data(),
                  puts_.place_of(access.varid),
                  header_.is_record_variable(access.varid),
                  -1,
                  {},
                  {}};
  bool is_in_one_record = true;
  pattern.extents.reserve(access.slabs.size());
  puts_.for_each_run(header_, access,
                     [&](std::int64_t record, const formats::ElementRun& run, std::int64_t element) {
                       const std::int64_t known = std::exchange(pattern.record, record);
                       if (known >= 0 && known != record) is_in_one_record = false;
                       pattern.extents.push_back({run.offset, run.length, element, 0, 1});
                     });
  if (!is_in_one_record || pattern.extents.empty()) return std::nullopt;
  storage::sort_extents(pattern.extents);
  // If a list names an element twice, all values are checked, and the last one wins.
  if (storage::has_overlaps(pattern.extents)) return std::nullopt;
  Part part;
  for (const Extent& extent : pattern.extents) append_run(part, {extent.offset_bytes, extent.elements});
  pattern.runs = std::move(part.runs);
  return pattern;
}

void PendingPuts::Call::add_by_pattern(Access& access, const Pattern& pattern, Part& part) {
  ElementCodec codec(header_, access);
  const auto element_bytes = static_cast<std::size_t>(codec.element_bytes());
  std::int64_t elements = 0;
  for (const auto& run : pattern.runs) elements += run.length;
  part.runs = pattern.runs;
  part.bytes.resize(static_cast<std::size_t>(elements) * element_bytes);
  std::byte* to = part.bytes.data();
  for (const Extent& extent : pattern.extents) {
    codec.encode(extent.first_element, extent.elements, to);
    to += static_cast<std::size_t>(extent.elements) * element_bytes;
  }
  puts_.bytes_ += static_cast<std::int64_t>(part.bytes.size() + part.runs.size() * sizeof part.runs.front());
}

void PendingPuts::Call::add_in_order(Access& access) {
  ElementCodec codec(header_, access);
  const auto element_bytes = static_cast<std::size_t>(codec.element_bytes());
  puts_.for_each_run(header_, access,
                     [&](std::int64_t record, const formats::ElementRun& run, std::int64_t element) {
                       Part& part = puts_.parts_[{access.varid, record, number_}];
                       const std::size_t had = part.bytes.size();
                       const auto size = static_cast<std::size_t>(run.length) * element_bytes;
                       part.bytes.resize(had + size);
                       codec.encode(element, run.length, part.bytes.data() + had);
                       append_run(part, run);
                       puts_.bytes_ += static_cast<std::int64_t>(size + sizeof run);
                     });
}

void PendingPuts::read(const formats::Header& header, Access& access, Rest rest, std::int64_t first_call) {
  const auto& sorted = parts(header);
  ElementCodec codec(header, access);
  const auto element_bytes = static_cast<std::size_t>(codec.element_bytes());
  std::vector<std::byte> zeros;
  for_each_run(
      header, access, [&](std::int64_t record, const formats::ElementRun& run, std::int64_t element) {
        if (rest == Rest::zeros) {
          zeros.resize(static_cast<std::size_t>(run.length) * element_bytes);
          codec.decode(element, run.length, zeros.data());
        }
        auto part = sorted.lower_bound({access.varid, record, first_call});
        for (; part != sorted.end() && part->first.varid == access.varid && part->first.record == record;
             ++part) {
          const std::byte* from = part->second.bytes.data();
          for (const auto& put : part->second.runs) {
            const std::int64_t first = std::max(put.offset, run.offset);
            const std::int64_t last = std::min(put.offset + put.length, run.offset + run.length);
            if (first < last)
              codec.decode(element + first - run.offset, last - first,
                           from + static_cast<std::size_t>(first - put.offset) * element_bytes);
            from += static_cast<std::size_t>(put.length) * element_bytes;
          }
        }
      });
}

const std::map<PendingPuts::Key, PendingPuts::Part>& PendingPuts::parts(const formats::Header& header) {
  for (auto& [key, part] : parts_) {
    if (!part.is_ascending) sort_part(part, formats::size_of(header.variable(key.varid).type));
  }
  return parts_;
}

void PendingPuts::take(const Key& key, const std::vector<formats::ElementRun>& runs,
                       std::span<const std::byte> bytes) {
  if (runs.empty()) return;
  Part& part = parts_[key];
  for (const auto& run : runs) append_run(part, run);
  part.bytes.insert(part.bytes.end(), bytes.begin(), bytes.end());
  bytes_ += static_cast<std::int64_t>(bytes.size() + runs.size() * sizeof(formats::ElementRun));
}

void PendingPuts::clear() noexcept {
  parts_.clear();
  bytes_ = 0;
}

}  // namespace sluice::api
