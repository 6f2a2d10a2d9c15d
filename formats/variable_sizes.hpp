#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::formats {

/// `bytes` rounded up to a multiple of `alignment`. Throws Error(NC_EVARSIZE) when that is beyond 63 bits.
[[nodiscard]] std::int64_t rounded_up(std::int64_t bytes, std::int64_t alignment);

/// Sum of two offsets or sizes. Throws Error(NC_EVARSIZE) when that is beyond 63 bits.
[[nodiscard]] std::int64_t checked_sum(std::int64_t a, std::int64_t b);

/// What a layout has to know of a variable; a whole header is not needed for it.
struct VariableExtent {
  std::string_view name;        ///< for messages; not owned
  std::int64_t data_bytes = 0;  ///< of the variable, or of one record of it, without padding
  std::int64_t begin = 0;
  bool is_record = false;
};

/// Of all variables. Throws Error(NC_EVARSIZE) as data_bytes does. The names are those of `header`.
[[nodiscard]] std::vector<VariableExtent> extents_of(const Header& header);

/// Throws Error(NC_EVARSIZE) when the sizes of the variables break the rules of the version: a variable may
/// be too large for its size field only when no other variable follows it. docs/formats/cdf.md, "Limits".
void check_variable_sizes(Version version, std::span<const VariableExtent> variables);

/// The largest `begin` of the version.
[[nodiscard]] std::int64_t max_begin(Version version) noexcept;

/// Bytes of one record of all record variables: each padded to 4, unless there is only one.
[[nodiscard]] std::int64_t record_bytes(std::span<const VariableExtent> variables);

/// compute_layout (layout.hpp) for variables of which only this is known: gives them their begins.
[[nodiscard]] Layout lay_out(Version version, std::int64_t header_size_bytes,
                             std::span<VariableExtent> variables, const LayoutOptions& options,
                             const Layout* previous);

}  // namespace sluice::formats
