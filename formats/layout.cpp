#include "sluice/formats/layout.hpp"

#include <algorithm>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {

namespace {

constexpr std::int64_t default_header_align_bytes = 512;

/// What was asked for, or the default; a multiple of 4.
std::int64_t alignment(std::int64_t asked, std::int64_t otherwise) {
  return rounded_up(asked > 0 ? asked : otherwise, 4);
}

/// The options with defaults filled in, and the sum of what is known before any variable has its place.
struct Placement {
  const Header& header;
  std::int64_t header_align;
  std::int64_t variable_align;
  std::int64_t record_align;
  bool keeps_places;  ///< a redefinition: what has a begin does not move down

  [[nodiscard]] std::int64_t not_below_old(int id, std::int64_t offset) const {
    return keeps_places ? std::max(offset, header.variable(id).begin) : offset;
  }
};

/// Gives offsets to the fixed-size variables (or to the record variables) from `offset` on; returns the end
/// of the last one.
std::int64_t place(const Placement& placement, bool records, std::int64_t offset,
                   std::vector<std::int64_t>& begins) {
  const auto& header = placement.header;
  for (int id = 0; id < header.variable_count(); ++id) {
    if (header.is_record_variable(id) != records) continue;
    if (!records) offset = placement.not_below_old(id, rounded_up(offset, placement.variable_align));
    if (offset > max_begin(header.version)) {
      throw Error(
          NC_EVARSIZE,
          "variable " + header.variable(id).name +
              " would start beyond 2^31 - 1 bytes, which format CDF-1 cannot say: use CDF-2 or CDF-5");
    }
    begins[static_cast<std::size_t>(id)] = offset;
    offset = checked_sum(offset, rounded_up(data_bytes(header, id), 4));
  }
  return offset;
}

bool has_fixed_variables(const Header& header) {
  for (int id = 0; id < header.variable_count(); ++id) {
    if (!header.is_record_variable(id)) return true;
  }
  return false;
}

}  // namespace

Layout compute_layout(Header& header, const LayoutOptions& options, const Layout* previous) {
  check_variable_sizes(header);
  const Placement placement{.header = header,
                            .header_align = alignment(options.header_align_bytes, default_header_align_bytes),
                            .variable_align = alignment(options.variable_align_bytes, 4),
                            .record_align = alignment(options.record_align_bytes, 4),
                            .keeps_places = previous != nullptr};
  Layout layout;
  layout.header_size = encoded_size(header);
  layout.record_size = record_bytes(header);
  layout.header_extent = layout.header_size;
  if (header.variable_count() > 0) {
    layout.header_extent =
        rounded_up(checked_sum(layout.header_size, options.header_free_bytes), placement.header_align);
    layout.header_extent = rounded_up(layout.header_extent, placement.variable_align);
  }
  if (previous != nullptr) layout.header_extent = std::max(layout.header_extent, previous->header_extent);

  std::vector<std::int64_t> begins(static_cast<std::size_t>(header.variable_count()));
  const auto fixed_end = place(placement, false, layout.header_extent, begins);
  layout.record_begin =
      rounded_up(checked_sum(fixed_end, options.variable_free_bytes), placement.variable_align);
  layout.record_begin = rounded_up(layout.record_begin, placement.record_align);
  if (previous != nullptr) layout.record_begin = std::max(layout.record_begin, previous->record_begin);
  place(placement, true, layout.record_begin, begins);
  if (!has_fixed_variables(header)) layout.header_extent = layout.record_begin;

  for (int id = 0; id < header.variable_count(); ++id) {
    header.variable(id).begin = begins[static_cast<std::size_t>(id)];
    header.variable(id).vsize = rounded_up(data_bytes(header, id), 4);
  }
  return layout;
}

Layout layout_of(const Header& header, std::int64_t header_size_bytes) {
  Layout layout;
  layout.header_size = header_size_bytes;
  layout.record_size = record_bytes(header);
  std::int64_t fixed_begin = -1;
  std::int64_t fixed_end = header_size_bytes;
  std::int64_t record_begin = -1;
  for (int id = 0; id < header.variable_count(); ++id) {
    const auto& variable = header.variable(id);
    if (header.is_record_variable(id)) {
      record_begin = record_begin < 0 ? variable.begin : std::min(record_begin, variable.begin);
    } else {
      fixed_begin = fixed_begin < 0 ? variable.begin : std::min(fixed_begin, variable.begin);
      fixed_end = std::max(fixed_end, checked_sum(variable.begin, rounded_up(data_bytes(header, id), 4)));
    }
  }
  layout.record_begin = record_begin < 0 ? fixed_end : record_begin;
  layout.header_extent = fixed_begin < 0 ? layout.record_begin : fixed_begin;
  return layout;
}

}  // namespace sluice::formats
