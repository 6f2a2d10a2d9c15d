#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::formats {

/// A hyperslab that does not own its numbers: for each dimension the first index, the number of elements and
/// the step (>= 1). An empty `stride` means 1 everywhere. Scalars have no dimensions. Elements are ordered
/// row-major (last dimension fastest).
struct HyperslabView {
  std::span<const std::int64_t> start;
  std::span<const std::int64_t> count;
  std::span<const std::int64_t> stride;

  [[nodiscard]] int dimensions() const noexcept { return static_cast<int>(start.size()); }
  [[nodiscard]] std::int64_t stride_of(int d) const noexcept {
    return stride.empty() ? 1 : stride[static_cast<std::size_t>(d)];
  }
  /// Number of elements; 0 if any count is 0, 1 for a scalar.
  [[nodiscard]] std::int64_t elements() const noexcept;
  /// The index after the last element in dimension d; start[d] if the count is 0.
  [[nodiscard]] std::int64_t end_of(int d) const noexcept;
};

/// A hyperslab that owns its numbers.
struct Hyperslab {
  std::vector<std::int64_t> start, count, stride;
  [[nodiscard]] HyperslabView view() const noexcept { return {start, count, stride}; }
};

/// The common elements of two hyperslabs in one dimension, as positions within each hyperslab. Element k (0
/// <= k < count) is position a_first + k * a_step of a, and b_first + k * b_step of b.
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

/// Where a range without elements may start. Relaxed: also one past the end (PnetCDF's default, and
/// PNETCDF_RELAX_COORD_BOUND=1). Strict: only inside its dimension (PNETCDF_RELAX_COORD_BOUND=0 at the create
/// or open of the file).
enum class StartRule : std::uint8_t { relaxed, strict };

/// Checks a selection as PnetCDF does, in its order. First all starts: NC_EINVALCOORDS; start == length is
/// allowed if the count is 0. Then for each dimension NC_ENEGATIVECNT and NC_EEDGE, then NC_ESTRIDE. The
/// caller checks for null start/count. `shape`: the dimension lengths. With `can_grow` the first dimension of
/// a record variable is unbounded (puts). Returns NC_NOERR or the code.
[[nodiscard]] int check_selection(const HyperslabView& selection, std::span<const std::int64_t> shape,
                                  bool first_is_record, bool can_grow,
                                  StartRule start_rule = StartRule::relaxed) noexcept;

/// Copies between a dense row-major buffer and one with the layout `imap` (distance in elements between
/// neighbours of each dimension, as in varm). count and imap have one entry per dimension. `element_bytes`:
/// the size of one element.
void gather_mapped(const void* mapped, std::span<const std::int64_t> count,
                   std::span<const std::int64_t> imap, std::size_t element_bytes, void* dense) noexcept;
void scatter_mapped(const void* dense, std::span<const std::int64_t> count,
                    std::span<const std::int64_t> imap, std::size_t element_bytes, void* mapped) noexcept;

}  // namespace sluice::formats
