#include "sluice/formats/hyperslab.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::formats {

std::int64_t HyperslabView::elements() const noexcept {
  std::int64_t product = 1;
  for (const auto n : count) product *= n;
  return product;
}

std::int64_t HyperslabView::end_of(int d) const noexcept {
  const auto i = static_cast<std::size_t>(d);
  return count[i] == 0 ? start[i] : start[i] + (count[i] - 1) * stride_of(d) + 1;
}

namespace {

/// Inverse of a modulo m; a and m are coprime. Source: the extended Euclidean algorithm.
std::int64_t inverse_modulo(std::int64_t a, std::int64_t m) noexcept {
  std::int64_t r0 = m, r1 = a % m, t0 = 0, t1 = 1;
  while (r1 != 0) {
    const auto q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    t0 = std::exchange(t1, t0 - q * t1);
  }
  return t0 < 0 ? t0 + m : t0;
}

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}

/// The intersection if both progressions have stride 1.
CommonRange intersect_dense(std::int64_t a_start, std::int64_t a_count, std::int64_t b_start,
                            std::int64_t b_count) noexcept {
  const auto first = std::max(a_start, b_start);
  const auto end = std::min(a_start + a_count, b_start + b_count);
  if (first >= end) return {};
  return {.count = end - first, .a_first = first - a_start, .b_first = first - b_start};
}

}  // namespace

CommonRange intersect(std::int64_t a_start, std::int64_t a_count, std::int64_t a_stride, std::int64_t b_start,
                      std::int64_t b_count, std::int64_t b_stride) noexcept {
  if (a_count <= 0 || b_count <= 0) return {};
  // A single element needs no stride; stride 1 prevents overflow by huge strides.
  if (a_count == 1) a_stride = 1;
  if (b_count == 1) b_stride = 1;
  if (a_stride == 1 && b_stride == 1) return intersect_dense(a_start, a_count, b_start, b_count);

  const auto first = std::max(a_start, b_start);
  const auto last = std::min(a_start + (a_count - 1) * a_stride, b_start + (b_count - 1) * b_stride);
  if (first > last) return {};
  const auto common = std::gcd(a_stride, b_stride);
  const auto distance = b_start - a_start;
  if (distance % common != 0) return {};

  // Element i of a is in b if i * a_stride == distance (modulo b_stride): i == i0 (modulo a_step).
  const auto a_step = b_stride / common;
  const auto b_step = a_stride / common;
  auto i0 = (distance / common) % a_step;
  if (i0 < 0) i0 += a_step;
  i0 = static_cast<std::int64_t>(static_cast<__int128>(i0) * inverse_modulo(b_step, a_step) % a_step);
  const auto i_least = divide_up(first - a_start, a_stride);
  const auto i_greatest = (last - a_start) / a_stride;
  const auto i_first =
      i0 >= i_least ? i0 - (i0 - i_least) / a_step * a_step : i0 + divide_up(i_least - i0, a_step) * a_step;
  if (i_first > i_greatest) return {};

  return {.count = (i_greatest - i_first) / a_step + 1,
          .a_first = i_first,
          .a_step = a_step,
          .b_first = (a_start + i_first * a_stride - b_start) / b_stride,
          .b_step = b_step};
}

}  // namespace sluice::formats
