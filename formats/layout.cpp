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

/// The first fixed-size variable, or null.
const VariableExtent* first_fixed(std::span<const VariableExtent> variables) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [](const auto& variable) { return !variable.is_record; });
  return found == variables.end() ? nullptr : &*found;
}

bool has_fixed_variables(const Header& header) {
  for (int id = 0; id < header.variable_count(); ++id) {
    if (!header.is_record_variable(id)) return true;
  }
  return false;
}

/// How variables are placed.
struct Rules {
  Version version = Version::cdf1;
  std::int64_t variable_align = 0;
  bool keeps_places = false;  ///< a redefinition: what has a begin does not move down
};

/// Gives offsets to the fixed-size variables (or to the record variables) from `offset` on; returns the end
/// of the last one.
std::int64_t place(const Rules& rules, bool records, std::int64_t offset,
                   std::span<VariableExtent> variables) {
  for (auto& variable : variables) {
    if (variable.is_record != records) continue;
    if (!records) offset = rounded_up(offset, rules.variable_align);
    if (rules.keeps_places) offset = std::max(offset, variable.begin);
    if (offset > max_begin(rules.version)) {
      throw Error(
          NC_EVARSIZE,
          "variable " + std::string(variable.name) +
              " would start beyond 2^31 - 1 bytes, which format CDF-1 cannot say: use CDF-2 or CDF-5");
    }
    variable.begin = offset;
    offset = checked_sum(offset, rounded_up(variable.data_bytes, 4));
  }
  return offset;
}

LayoutOptions in_force(const LayoutOptions& held, const LayoutOptions& arguments, bool has_fixed) {
  // Where only the record section's alignment is given as an argument, it is that of the first section too.
  const auto first_section = arguments.header_align_bytes == 0 && has_fixed ? arguments.record_align_bytes
                                                                            : arguments.header_align_bytes;
  return {.header_align_bytes = alignment(held.header_align_bytes, first_section, default_header_align_bytes),
          .header_free_bytes = arguments.header_free_bytes,
          .variable_align_bytes = alignment(held.variable_align_bytes, 0, default_align_bytes),
          .variable_free_bytes = arguments.variable_free_bytes,
          .record_align_bytes =
              alignment(held.record_align_bytes, arguments.record_align_bytes, default_align_bytes)};
}

LayoutOptions with_defaults(const LayoutOptions& asked, bool has_fixed) {
  auto options = in_force(asked, {}, has_fixed);
  options.header_free_bytes = asked.header_free_bytes;
  options.variable_free_bytes = asked.variable_free_bytes;
  return options;
}

/// Where the first variable's data may start.
std::int64_t first_data_offset(std::span<const VariableExtent> variables, std::int64_t header_size,
                               const LayoutOptions& options) {
  if (variables.empty()) return header_size;
  const auto room_end =
      rounded_up(checked_sum(header_size, options.header_free_bytes), options.header_align_bytes);
  return first_fixed(variables) != nullptr ? rounded_up(room_end, options.variable_align_bytes) : room_end;
}

}  // namespace

LayoutOptions options_in_force(const LayoutOptions& held, const LayoutOptions& arguments,
                               const Header& header) {
  return in_force(held, arguments, has_fixed_variables(header));
}

Layout lay_out(Version version, std::int64_t header_size_bytes, std::span<VariableExtent> variables,
               const LayoutOptions& asked, const Layout* previous) {
  check_variable_sizes(version, variables);
  const auto* const first = first_fixed(variables);
  const auto options = with_defaults(asked, first != nullptr);
  const Rules rules{version, options.variable_align_bytes, previous != nullptr};
  Layout layout;
  layout.header_size = header_size_bytes;
  layout.record_size = record_bytes(variables);
  layout.header_extent = first_data_offset(variables, layout.header_size, options);
  if (previous != nullptr) layout.header_extent = std::max(layout.header_extent, previous->header_extent);

  const auto fixed_end = place(rules, false, layout.header_extent, variables);
  layout.record_begin =
      rounded_up(checked_sum(fixed_end, options.variable_free_bytes), options.variable_align_bytes);
  if (previous != nullptr) layout.record_begin = std::max(layout.record_begin, previous->record_begin);
  layout.record_begin = rounded_up(layout.record_begin, options.record_align_bytes);
  place(rules, true, layout.record_begin, variables);
  layout.header_extent = first != nullptr ? first->begin : layout.record_begin;
  return layout;
}

Layout compute_layout(Header& header, const LayoutOptions& asked, const Layout* previous) {
  auto variables = extents_of(header);
  const auto layout = lay_out(header.version, encoded_size(header), variables, asked, previous);
  for (int id = 0; id < header.variable_count(); ++id) {
    const auto& placed = variables[static_cast<std::size_t>(id)];
    header.variable(id).begin = placed.begin;
    header.variable(id).vsize = rounded_up(placed.data_bytes, 4);
  }
  return layout;
}

Layout layout_of(const Header& header, std::int64_t header_size_bytes) {
  Layout layout;
  layout.header_size = header_size_bytes;
  layout.record_size = record_bytes(extents_of(header));
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
