#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::formats {

/// `bytes` rounded up to a multiple of `alignment`. Throws Error(NC_EVARSIZE) if the result exceeds 63 bits.
[[nodiscard]] std::int64_t rounded_up(std::int64_t bytes, std::int64_t alignment);

/// Sum of two offsets or sizes. Throws Error(NC_EVARSIZE) if the result exceeds 63 bits.
[[nodiscard]] std::int64_t checked_sum(std::int64_t a, std::int64_t b);

/// The facts about a variable that a layout needs instead of a whole header.
struct VariableExtent {
  std::string_view name;        ///< for messages; not owned
  std::int64_t data_bytes = 0;  ///< bytes of the variable, or of one record of it, without padding
  std::int64_t begin = 0;
  bool is_record = false;
};

/// The extents of all variables; they refer to the names in `header`. Throws Error(NC_EVARSIZE) as data_bytes
/// does.
[[nodiscard]] std::vector<VariableExtent> extents_of(const Header& header);

/// Throws Error(NC_EVARSIZE) if the sizes of the variables break the rules of the version. A variable may
/// exceed its size field only if no other variable follows. docs/formats/cdf.md, "Limits".
void check_variable_sizes(Version version, std::span<const VariableExtent> variables);

/// The largest `begin` of the version.
[[nodiscard]] std::int64_t max_begin(Version version) noexcept;

/// Bytes of one record of all record variables: each variable is padded to 4, unless there is only one.
[[nodiscard]] std::int64_t record_bytes(std::span<const VariableExtent> variables);

/// compute_layout (layout.hpp) for variables given by their extents; assigns their begins.
[[nodiscard]] Layout lay_out(Version version, std::int64_t header_size_bytes,
                             std::span<VariableExtent> variables, const LayoutOptions& options,
                             const Layout* previous);

}  // namespace sluice::formats
