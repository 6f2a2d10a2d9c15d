#include "copy_bounds.hpp"

#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"

namespace sluice::replay {
namespace {

/// Widens [lowest, highest] by count - 1 steps; false on overflow.
bool widen(std::int64_t& lowest, std::int64_t& highest, std::int64_t count, std::int64_t step) noexcept {
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(count - 1, step, &reach)) return false;
  std::int64_t& end = reach < 0 ? lowest : highest;
  return !__builtin_add_overflow(end, reach, &end);
}

}  // namespace

CopyBounds bounds_of(std::span<const CopyDimension> dimensions) {
  CopyBounds bounds;
  for (const CopyDimension& dimension : dimensions) {
    const bool is_sound =
        dimension.count >= 1 && !__builtin_mul_overflow(bounds.elements, dimension.count, &bounds.elements) &&
        bounds.elements <= matcher::max_elements &&
        widen(bounds.lowest_source, bounds.highest_source, dimension.count, dimension.source_step_bytes) &&
        widen(bounds.lowest_destination, bounds.highest_destination, dimension.count,
              dimension.destination_step);
    if (!is_sound) throw Error(NC_EIO, "a copy plan has a dimension with numbers out of range");
  }
  return bounds;
}

SourceRange source_range(const Plan& plan, const Copy& copy, std::size_t element_bytes) {
  const CopyBounds bounds = bounds_of(plan.dimensions_of(copy));
  SourceRange range;
  const bool is_sound = copy.log_offset <= matcher::max_log_offset &&
                        !__builtin_add_overflow(copy.log_offset, bounds.lowest_source, &range.first) &&
                        !__builtin_add_overflow(copy.log_offset, bounds.highest_source, &range.end) &&
                        !__builtin_add_overflow(range.end, element_bytes, &range.end);
  if (!is_sound) throw Error(NC_EIO, "a copy plan reads log offsets out of range");
  return range;
}

}  // namespace sluice::replay
