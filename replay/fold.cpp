#include "fold.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace sluice::replay {
namespace {

/// The smallest number of copies that is worth a new dimension.
constexpr std::size_t least_to_fold = 3;

/// The distance from one copy to the next.
struct Distance {
  std::int64_t source_bytes = 0;
  std::int64_t destination = 0;
  bool operator==(const Distance&) const = default;
};

Distance distance(const Copy& a, const Copy& b) noexcept {
  return {static_cast<std::int64_t>(b.log_offset - a.log_offset), b.destination - a.destination};
}

bool are_alike(const Plan& plan, const Copy& a, const Copy& b) noexcept {
  return a.writer == b.writer && a.is_fill == b.is_fill && a.dimensions == b.dimensions &&
         (a.first_dimension == b.first_dimension ||
          std::ranges::equal(plan.dimensions_of(a), plan.dimensions_of(b)));
}

/// The number of copies from `first` on that have the same shape and the same distance from each other.
std::size_t regular_copies(const Plan& plan, std::size_t first) noexcept {
  const std::vector<Copy>& copies = plan.copies;
  std::size_t end = first + 1;
  while (end < copies.size() && are_alike(plan, copies[first], copies[end]) &&
         distance(copies[end - 1], copies[end]) == distance(copies[first], copies[first + 1])) {
    ++end;
  }
  return end - first;
}

/// Appends a copy with its dimensions. If the previous copy has the same dimensions, both copies share them.
void append(Plan& plan, Copy copy, std::span<const CopyDimension> dimensions) {
  copy.dimensions = static_cast<std::uint16_t>(dimensions.size());
  const bool can_share =
      !plan.copies.empty() && std::ranges::equal(plan.dimensions_of(plan.copies.back()), dimensions);
  if (can_share) {
    copy.first_dimension = plan.copies.back().first_dimension;
  } else {
    copy.first_dimension = static_cast<std::uint32_t>(plan.dimensions.size());
    plan.dimensions.insert(plan.dimensions.end(), dimensions.begin(), dimensions.end());
  }
  plan.copies.push_back(copy);
}

/// Whether no element of the destination is reached twice, by a simple test: each step is larger than the
/// total span of all smaller steps. Copies that overwrite each other must stay separate and in order.
bool reaches_each_element_once(std::vector<CopyDimension> dimensions) {
  std::ranges::sort(dimensions, {}, [](const CopyDimension& d) { return std::abs(d.destination_step); });
  std::int64_t span = 0;
  for (const CopyDimension& dimension : dimensions) {
    const std::int64_t step = std::abs(dimension.destination_step);
    if (dimension.count > 1 && step <= span) return false;
    span += (dimension.count - 1) * step;
  }
  return true;
}

/// The dimensions of one copy that replaces `count` regular copies.
void folded_dimensions(std::span<const CopyDimension> inner, std::size_t count, const Distance& step,
                       std::vector<CopyDimension>& folded) {
  folded.assign(inner.begin(), inner.end());
  const auto n = static_cast<std::int64_t>(count);
  const bool continues = !inner.empty() &&
                         step.source_bytes == inner.front().count * inner.front().source_step_bytes &&
                         step.destination == inner.front().count * inner.front().destination_step;
  if (continues) {
    folded.front().count *= n;
  } else {
    folded.insert(folded.begin(), {n, step.source_bytes, step.destination});
  }
}

Plan fold_once(const Plan& plan) {
  Plan result;
  result.needs_fill = plan.needs_fill;
  result.depends_on_clock = plan.depends_on_clock;
  result.elements = plan.elements;
  std::vector<CopyDimension> folded;
  for (std::size_t i = 0; i < plan.copies.size();) {
    const Copy& copy = plan.copies[i];
    const std::size_t count = regular_copies(plan, i);
    if (count < least_to_fold) {
      append(result, copy, plan.dimensions_of(copy));
      ++i;
      continue;
    }
    folded_dimensions(plan.dimensions_of(copy), count, distance(copy, plan.copies[i + 1]), folded);
    if (reaches_each_element_once(folded)) {
      append(result, copy, folded);
    } else {
      for (std::size_t k = i; k < i + count; ++k)
        append(result, plan.copies[k], plan.dimensions_of(plan.copies[k]));
    }
    i += count;
  }
  return result;
}

}  // namespace

Plan fold(Plan plan) {
  while (true) {
    Plan folded = fold_once(plan);
    if (folded.copies.size() == plan.copies.size()) return folded;
    plan = std::move(folded);
  }
}

}  // namespace sluice::replay
