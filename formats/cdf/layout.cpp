#include "sluice/formats/layout.hpp"

#include <algorithm>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {

namespace {

constexpr std::int64_t default_data_align_bytes = 512;
constexpr std::int64_t default_align_behind_fixed_bytes = 4;

/// The alignment that every variable has at least.
constexpr std::int64_t least_align_bytes = 4;

/// The first fixed-size variable, or null.
const VariableExtent* first_fixed(std::span<const VariableExtent> variables) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [](const auto& variable) { return !variable.is_record; });
  return found == variables.end() ? nullptr : &*found;
}

/// The rules for placing variables.
struct Rules {
  Version version = Version::cdf1;
  bool keeps_places = false;  ///< a redefinition: a variable with a begin does not move down
};

/// Assigns offsets from `offset` on to the fixed-size variables (or to the record variables). Returns the end
/// of the last one.
std::int64_t place(const Rules& rules, bool records, std::int64_t offset,
                   std::span<VariableExtent> variables) {
  for (auto& variable : variables) {
    if (variable.is_record != records) continue;
    if (!records) offset = rounded_up(offset, least_align_bytes);
    if (rules.keeps_places) offset = std::max(offset, variable.begin);
    if (offset > max_begin(rules.version)) {
      throw Error(NC_EVARSIZE,
                  "variable " + std::string(variable.name) +
                      " would start beyond 2^31 - 1 bytes, the limit of CDF-1: use CDF-2 or CDF-5");
    }
    variable.begin = offset;
    offset = checked_sum(offset, rounded_up(variable.data_bytes, 4));
  }
  return offset;
}

LayoutOptions with_defaults(std::span<const VariableExtent> variables, LayoutOptions options) {
  const auto default_record_align =
      first_fixed(variables) != nullptr ? default_align_behind_fixed_bytes : default_data_align_bytes;
  if (options.data_align_bytes == 0) options.data_align_bytes = default_data_align_bytes;
  if (options.record_align_bytes == 0) options.record_align_bytes = default_record_align;
  return options;
}

/// The layout of a file without variables. Alignment and reserved space have no effect.
Layout without_variables(std::int64_t header_size, const Layout* previous) {
  Layout layout;
  layout.header_size = header_size;
  layout.header_extent = std::max(header_size, previous != nullptr ? previous->header_extent : 0);
  layout.record_begin = layout.header_extent;
  return layout;
}

/// The start of the data section, which is not before the previous start. If there are only record variables,
/// record_begin aligns them.
std::int64_t data_begin(bool has_fixed, std::int64_t header_size, const LayoutOptions& options,
                        const Layout* previous) {
  auto begin = checked_sum(header_size, options.header_free_bytes);
  if (previous != nullptr) begin = std::max(begin, previous->header_extent);
  return has_fixed ? rounded_up(begin, options.data_align_bytes) : begin;
}

/// The start of the record section: after the fixed-size variables, or as the data section.
std::int64_t record_begin(std::int64_t fixed_end, bool has_fixed, const LayoutOptions& options,
                          const Layout* previous) {
  auto begin = rounded_up(fixed_end, least_align_bytes);
  if (has_fixed) begin = checked_sum(begin, options.fixed_free_bytes);
  if (previous != nullptr) begin = std::max(begin, previous->record_begin);
  return rounded_up(begin, options.record_align_bytes);
}

}  // namespace

LayoutOptions options_in_force(const AlignmentHints& hints, const EnddefArguments& arguments) {
  const auto data = hints.data != 0 ? hints.data : arguments.data_align;
  const auto record = hints.record != 0 ? hints.record : arguments.record_align;
  return {.data_align_bytes = rounded_up(data, least_align_bytes),
          .header_free_bytes = arguments.header_free_bytes,
          .fixed_free_bytes = arguments.fixed_free_bytes,
          .record_align_bytes = rounded_up(record, least_align_bytes)};
}

LayoutOptions with_defaults(const LayoutOptions& options, const Header& header) {
  if (header.variable_count() > 0) return with_defaults(extents_of(header), options);
  return {.header_free_bytes = options.header_free_bytes, .fixed_free_bytes = options.fixed_free_bytes};
}

Layout lay_out(Version version, std::int64_t header_size_bytes, std::span<VariableExtent> variables,
               const LayoutOptions& asked, const Layout* previous) {
  if (variables.empty()) return without_variables(header_size_bytes, previous);
  check_variable_sizes(version, variables);
  const auto* const first = first_fixed(variables);
  const bool has_fixed = first != nullptr;
  const auto options = with_defaults(variables, asked);
  const Rules rules{version, previous != nullptr};
  Layout layout;
  layout.header_size = header_size_bytes;
  layout.record_size = record_bytes(variables);
  const auto fixed_end =
      place(rules, false, data_begin(has_fixed, layout.header_size, options, previous), variables);
  layout.record_begin = record_begin(fixed_end, has_fixed, options, previous);
  place(rules, true, layout.record_begin, variables);
  layout.header_extent = has_fixed ? first->begin : layout.record_begin;
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

std::int64_t file_bytes(const Header& header, const Layout& layout) {
  std::int64_t end = layout.header_size;
  for (int id = 0; id < header.variable_count(); ++id) {
    const bool has_records = header.is_record_variable(id);
    if (has_records && header.record_count == 0) continue;
    std::int64_t before = 0;
    // The number of records is that of a file or of a message, and may be anything.
    if (has_records && (header.record_count < 0 ||
                        __builtin_mul_overflow(header.record_count - 1, layout.record_size, &before)))
      throw Error(NC_EINTOVERFLOW,
                  std::to_string(header.record_count) + " records are more than a file can have");
    end = std::max(end, checked_sum(checked_sum(header.variable(id).begin, before), data_bytes(header, id)));
  }
  return end;
}

}  // namespace sluice::formats
