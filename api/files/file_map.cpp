#include "file_map.hpp"

#include <algorithm>

namespace sluice::api {

FileMap::FileMap(const formats::Header& header, const formats::Layout& layout)
    : header_(header), layout_(layout) {
  for (int id = 0; id < header.variable_count(); ++id) {
    const auto begin = header.variable(id).begin;
    if (!header.is_record_variable(id)) {
      fixed_.push_back({begin, id});
    } else if (layout.record_size > 0) {
      record_.push_back({(begin - layout.record_begin) % layout.record_size, id});
    }
  }
  std::ranges::sort(fixed_, {}, &Begin::offset_bytes);
  std::ranges::sort(record_, {}, &Begin::offset_bytes);
}

std::optional<FileMap::Place> FileMap::in_variable(int varid, std::int64_t offset_bytes) const {
  const auto& variable = header_.variable(varid);
  const auto bytes =
      header_.elements_per_record(varid) * static_cast<std::int64_t>(formats::size_of(variable.type));
  if (offset_bytes < variable.begin) return std::nullopt;
  Place place{varid, 0, offset_bytes - variable.begin, 0};
  if (header_.is_record_variable(varid) && layout_.record_size > 0) {
    place.record = place.offset_bytes / layout_.record_size;
    place.offset_bytes %= layout_.record_size;
  }
  place.rest_bytes = bytes - place.offset_bytes;
  if (place.rest_bytes <= 0) return std::nullopt;
  return place;
}

std::optional<FileMap::Place> FileMap::in_one_of(const std::vector<Begin>& begins, std::int64_t position,
                                                 std::int64_t offset_bytes) const {
  const auto next = std::ranges::upper_bound(begins, position, {}, &Begin::offset_bytes);
  if (next == begins.begin()) return std::nullopt;
  return in_variable((next - 1)->varid, offset_bytes);
}

std::optional<FileMap::Place> FileMap::at(std::int64_t offset_bytes) const {
  if (const auto place = in_one_of(fixed_, offset_bytes, offset_bytes)) return place;
  if (offset_bytes < layout_.record_begin || layout_.record_size == 0) return std::nullopt;
  return in_one_of(record_, (offset_bytes - layout_.record_begin) % layout_.record_size, offset_bytes);
}

}  // namespace sluice::api
