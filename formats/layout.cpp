#include "sluice/formats/layout.hpp"

#include <algorithm>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {

namespace {

constexpr std::int64_t default_data_align_bytes = 512;
constexpr std::int64_t default_record_align_bytes = 4;

/// What variables start at, in any case.
constexpr std::int64_t least_align_bytes = 4;

/// A multiple of 4; 0, which someone may ask for, is as good as 4.
std::int64_t usable(std::int64_t alignment) {
  return std::max(rounded_up(alignment, least_align_bytes), least_align_bytes);
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
  bool keeps_places = false;  ///< a redefinition: what has a begin does not move down
};

/// Gives offsets to the fixed-size variables (or to the record variables) from `offset` on; returns the end
/// of the last one.
std::int64_t place(const Rules& rules, bool records, std::int64_t offset,
                   std::span<VariableExtent> variables) {
  for (auto& variable : variables) {
    if (variable.is_record != records) continue;
    if (!records) offset = rounded_up(offset, least_align_bytes);
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

LayoutOptions with_defaults(LayoutOptions options) {
  if (options.data_align_bytes == 0) options.data_align_bytes = default_data_align_bytes;
  if (options.record_align_bytes == 0) options.record_align_bytes = default_record_align_bytes;
  return options;
}

/// Where the data section starts, aligned where there is something to align; not before `previous` did.
std::int64_t data_begin(std::span<const VariableExtent> variables, std::int64_t header_size,
                        const LayoutOptions& options, const Layout* previous) {
  auto begin = checked_sum(header_size, options.header_free_bytes);
  if (previous != nullptr) begin = std::max(begin, previous->header_extent);
  return variables.empty() ? begin : rounded_up(begin, options.data_align_bytes);
}

/// Where the record section starts, behind the fixed-size variables. Without these it is the data section.
std::int64_t record_begin(std::int64_t fixed_end, bool has_fixed, const LayoutOptions& options,
                          const Layout* previous) {
  auto begin = has_fixed ? checked_sum(fixed_end, options.fixed_free_bytes) : fixed_end;
  if (previous != nullptr) begin = std::max(begin, previous->record_begin);
  return rounded_up(begin, has_fixed ? options.record_align_bytes : least_align_bytes);
}

}  // namespace

LayoutOptions options_in_force(const AlignmentHints& hints, const EnddefArguments& arguments,
                               const LayoutOptions& held, const Header& header) {
  const auto former = with_defaults(held);
  const auto& data_hint =
      hints.data_of_records && !has_fixed_variables(header) ? hints.data_of_records : hints.data;
  const auto data = data_hint ? data_hint : arguments.data_align;
  const auto record = hints.record ? hints.record : arguments.record_align;
  return {.data_align_bytes = usable(data.value_or(former.data_align_bytes)),
          .header_free_bytes = arguments.header_free_bytes,
          .fixed_free_bytes = arguments.fixed_free_bytes,
          .record_align_bytes = usable(record.value_or(former.record_align_bytes))};
}

Layout lay_out(Version version, std::int64_t header_size_bytes, std::span<VariableExtent> variables,
               const LayoutOptions& asked, const Layout* previous) {
  check_variable_sizes(version, variables);
  const auto* const first = first_fixed(variables);
  const auto options = with_defaults(asked);
  const Rules rules{version, previous != nullptr};
  Layout layout;
  layout.header_size = header_size_bytes;
  layout.record_size = record_bytes(variables);
  const auto fixed_end =
      place(rules, false, data_begin(variables, layout.header_size, options, previous), variables);
  layout.record_begin = record_begin(fixed_end, first != nullptr, options, previous);
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
