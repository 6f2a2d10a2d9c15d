#include "sluice/formats/layout.hpp"

#include <algorithm>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {

namespace {

constexpr std::int64_t default_header_align_bytes = 512;
constexpr std::int64_t default_align_bytes = 4;

/// The first of the two that was asked for, or else the default; a multiple of 4.
std::int64_t alignment(std::int64_t held, std::int64_t asked, std::int64_t otherwise) {
  const auto chosen = held > 0 ? held : asked > 0 ? asked : otherwise;
  return rounded_up(chosen, 4);
}

/// Id of the first fixed-size variable, or -1.
int first_fixed_variable(const Header& header) {
  for (int id = 0; id < header.variable_count(); ++id) {
    if (!header.is_record_variable(id)) return id;
  }
  return -1;
}

bool has_fixed_variables(const Header& header) {
  return first_fixed_variable(header) >= 0;
}

/// Where new variables may go.
struct Placement {
  const Header& header;
  std::int64_t variable_align;
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
    if (!records) offset = rounded_up(offset, placement.variable_align);
    offset = placement.not_below_old(id, offset);
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

LayoutOptions with_defaults(const LayoutOptions& asked, const Header& header) {
  auto options = options_in_force(asked, {}, header);
  options.header_free_bytes = asked.header_free_bytes;
  options.variable_free_bytes = asked.variable_free_bytes;
  return options;
}

/// Where the first variable's data may start.
std::int64_t first_data_offset(const Header& header, std::int64_t header_size, const LayoutOptions& options) {
  if (header.variable_count() == 0) return header_size;
  const auto room_end =
      rounded_up(checked_sum(header_size, options.header_free_bytes), options.header_align_bytes);
  return has_fixed_variables(header) ? rounded_up(room_end, options.variable_align_bytes) : room_end;
}

}  // namespace

LayoutOptions options_in_force(const LayoutOptions& held, const LayoutOptions& arguments,
                               const Header& header) {
  // Where only the record section's alignment is given as an argument, it is that of the first section too.
  const auto first_section = arguments.header_align_bytes == 0 && has_fixed_variables(header)
                                 ? arguments.record_align_bytes
                                 : arguments.header_align_bytes;
  return {.header_align_bytes = alignment(held.header_align_bytes, first_section, default_header_align_bytes),
          .header_free_bytes = arguments.header_free_bytes,
          .variable_align_bytes = alignment(held.variable_align_bytes, 0, default_align_bytes),
          .variable_free_bytes = arguments.variable_free_bytes,
          .record_align_bytes =
              alignment(held.record_align_bytes, arguments.record_align_bytes, default_align_bytes)};
}

Layout compute_layout(Header& header, const LayoutOptions& asked, const Layout* previous) {
  check_variable_sizes(header);
  const auto options = with_defaults(asked, header);
  const Placement placement{
      .header = header, .variable_align = options.variable_align_bytes, .keeps_places = previous != nullptr};
  Layout layout;
  layout.header_size = encoded_size(header);
  layout.record_size = record_bytes(header);
  layout.header_extent = first_data_offset(header, layout.header_size, options);
  if (previous != nullptr) layout.header_extent = std::max(layout.header_extent, previous->header_extent);

  std::vector<std::int64_t> begins(static_cast<std::size_t>(header.variable_count()));
  const auto fixed_end = place(placement, false, layout.header_extent, begins);
  layout.record_begin =
      rounded_up(checked_sum(fixed_end, options.variable_free_bytes), options.variable_align_bytes);
  if (previous != nullptr) layout.record_begin = std::max(layout.record_begin, previous->record_begin);
  layout.record_begin = rounded_up(layout.record_begin, options.record_align_bytes);
  place(placement, true, layout.record_begin, begins);

  for (int id = 0; id < header.variable_count(); ++id) {
    header.variable(id).begin = begins[static_cast<std::size_t>(id)];
    header.variable(id).vsize = rounded_up(data_bytes(header, id), 4);
  }
  const int first = first_fixed_variable(header);
  layout.header_extent = first >= 0 ? header.variable(first).begin : layout.record_begin;
  return layout;
}

Layout layout_of(const Header& header, std::int64_t header_size_bytes) {
  Layout layout;
  layout.header_size = header_size_bytes;
  layout.record_size = record_bytes(header);
  if (header.variable_count() == 0) return layout;
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
