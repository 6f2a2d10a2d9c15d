#include "sluice/matcher/box.hpp"

#include <algorithm>

namespace sluice::matcher {
namespace {

bool ends_below_limit(std::int64_t start, std::int64_t count, std::int64_t stride) noexcept {
  std::int64_t span = 0;
  std::int64_t last = 0;
  return !__builtin_mul_overflow(count - 1, stride, &span) && !__builtin_add_overflow(start, span, &last) &&
         last < index_limit;
}

}  // namespace

bool is_sound(const formats::HyperslabView& box) noexcept {
  const std::size_t dimensions = box.start.size();
  if (box.count.size() != dimensions) return false;
  if (!box.stride.empty() && box.stride.size() != dimensions) return false;
  const bool is_empty = std::ranges::find(box.count, 0) != box.count.end();
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::int64_t count = box.count[d];
    const std::int64_t stride = box.stride.empty() ? 1 : box.stride[d];
    if (box.start[d] < 0 || count < 0 || stride < 1) return false;
    if (count > 0 && !ends_below_limit(box.start[d], count, stride)) return false;
    if (is_empty) continue;
    if (__builtin_mul_overflow(elements, count, &elements) || elements > max_elements) return false;
  }
  return true;
}

}  // namespace sluice::matcher
