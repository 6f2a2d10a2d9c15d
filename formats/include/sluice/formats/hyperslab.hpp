#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::formats {

/// A hyperslab that does not own its numbers: per dimension the first index, the number of elements and the
/// step (>= 1). `stride` may be empty: 1 everywhere. Scalars have no dimensions. Elements are ordered
/// row-major (last dimension fastest).
struct HyperslabView {
  std::span<const std::int64_t> start;
  std::span<const std::int64_t> count;
  std::span<const std::int64_t> stride;

  [[nodiscard]] int dimensions() const noexcept { return static_cast<int>(start.size()); }
  [[nodiscard]] std::int64_t stride_of(int d) const noexcept {
    return stride.empty() ? 1 : stride[static_cast<std::size_t>(d)];
  }
  /// Number of elements; 0 when any count is 0, 1 for a scalar.
  [[nodiscard]] std::int64_t elements() const noexcept;
  /// Index after the last one touched in dimension d; start[d] when the count is 0.
  [[nodiscard]] std::int64_t end_of(int d) const noexcept;
};

/// A hyperslab that owns its numbers.
struct Hyperslab {
  std::vector<std::int64_t> start, count, stride;
  [[nodiscard]] HyperslabView view() const noexcept { return {start, count, stride}; }
};

/// What two hyperslabs share in one dimension, in terms of each one's own element positions:
/// element k (0 <= k < count) is position a_first + k * a_step of a and b_first + k * b_step of b.
struct CommonRange {
  std::int64_t count = 0;
  std::int64_t a_first = 0, a_step = 1;
  std::int64_t b_first = 0, b_step = 1;
};

/// Intersects two arithmetic progressions (start, count, stride), any strides >= 1. Source: the Chinese
/// remainder theorem.
[[nodiscard]] CommonRange intersect(std::int64_t a_start, std::int64_t a_count, std::int64_t a_stride,
                                    std::int64_t b_start, std::int64_t b_count,
                                    std::int64_t b_stride) noexcept;

/// Where a range of no elements may start: one past the end too (PnetCDF's default, and
/// PNETCDF_RELAX_COORD_BOUND=1), or inside its dimension only (PNETCDF_RELAX_COORD_BOUND=0 when the file was
/// created or opened).
enum class StartRule : std::uint8_t { relaxed, strict };

/// Checks a selection as PnetCDF does, in its order: all starts (NC_EINVALCOORDS; start == length is allowed
/// where count is 0), then per dimension NC_ENEGATIVECNT and NC_EEDGE, then NC_ESTRIDE. Null start/count are
/// the caller's concern. `shape` holds the dimension lengths; when `can_grow` the first dimension of a record
/// variable is not bounded (puts). Returns NC_NOERR or the code.
[[nodiscard]] int check_selection(const HyperslabView& selection, std::span<const std::int64_t> shape,
                                  bool first_is_record, bool can_grow,
                                  StartRule start_rule = StartRule::relaxed) noexcept;

/// Copies between a dense row-major buffer and one laid out by `imap` (distance in elements between
/// neighbours of each dimension, as in varm). Shapes: count and imap one entry per dimension. `element_bytes`
/// is the size of one element.
void gather_mapped(const void* mapped, std::span<const std::int64_t> count,
                   std::span<const std::int64_t> imap, std::size_t element_bytes, void* dense) noexcept;
void scatter_mapped(const void* dense, std::span<const std::int64_t> count,
                    std::span<const std::int64_t> imap, std::size_t element_bytes, void* mapped) noexcept;

}  // namespace sluice::formats
