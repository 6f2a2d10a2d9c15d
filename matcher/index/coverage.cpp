#include "coverage.hpp"

#include <algorithm>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {
namespace {

/// Limit of comparisons of two boxes for an answer, plus 256 per part.
constexpr std::size_t base_budget = std::size_t{1} << 20;
constexpr std::size_t budget_per_part = 256;
/// Limit of boxes that represent the uncovered rest.
constexpr std::size_t max_rest = 4096;

/// Limit of memory for marking elements, in bits, beyond one row.
constexpr std::int64_t max_marks = std::int64_t{1} << 26;

using Part = std::span<const Progression>;

enum class Coverage { whole, partial, unknown };

/// The parts, one by one.
struct Parts {
  const std::vector<Progression>& flat;
  std::size_t dimensions = 0;
  [[nodiscard]] std::size_t size() const noexcept { return flat.size() / dimensions; }
  [[nodiscard]] Part operator[](std::size_t i) const noexcept {
    return std::span(flat).subspan(i * dimensions, dimensions);
  }
};

bool have_common_element(Part a, Part b) noexcept {
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (formats::intersect(a[d].first, a[d].count, a[d].step, b[d].first, b[d].count, b[d].step).count == 0)
      return false;
  }
  return true;
}

/// The range of a part in the row-major order of the read, from its first to its last element.
struct Hull {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t part = 0;
};

Hull hull_of(std::span<const std::int64_t> shape, const Parts& parts, std::size_t i) noexcept {
  Hull hull{0, 0, i};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Progression& p = parts[i][d];
    hull.first = hull.first * shape[d] + p.first;
    hull.last = hull.last * shape[d] + p.first + (p.count - 1) * p.step;
  }
  return hull;
}

/// For parts that have together as many elements as the box: they cover the box unless two of them share an
/// element. Sweeps over the hulls in ascending order and compares each part with the parts whose hull has not
/// ended.
Coverage coverage_unless_overlapping(std::span<const std::int64_t> shape, const Parts& parts) {
  std::vector<Hull> hulls;
  hulls.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) hulls.push_back(hull_of(shape, parts, i));
  std::ranges::sort(hulls, {}, &Hull::first);
  std::size_t budget = base_budget + budget_per_part * parts.size();
  std::vector<Hull> open;
  for (const Hull& hull : hulls) {
    std::erase_if(open, [&](const Hull& other) { return other.last < hull.first; });
    if (budget < open.size()) return Coverage::unknown;
    budget -= open.size();
    for (const Hull& other : open) {
      if (have_common_element(parts[hull.part], parts[other.part])) return Coverage::partial;
    }
    open.push_back(hull);
  }
  return Coverage::whole;
}

/// A dense box, one range [first, first + count) per dimension.
using Box = std::vector<Progression>;

/// Appends the rest of `box` without `part` (dense), as at most two boxes per dimension.
void subtract(Box box, Part part, std::vector<Box>& rest) {
  for (std::size_t d = 0; d < part.size(); ++d) {
    const std::int64_t box_end = box[d].first + box[d].count;
    const std::int64_t first = std::max(box[d].first, part[d].first);
    const std::int64_t end = std::min(box_end, part[d].first + part[d].count);
    if (first > box[d].first) {
      rest.push_back(box);
      rest.back()[d].count = first - box[d].first;
    }
    if (end < box_end) {
      rest.push_back(box);
      rest.back()[d] = {end, box_end - end};
    }
    box[d] = {first, end - first};
  }
}

/// Subtracts one part after the other from the whole. Parts may overlap; only dense parts are subtracted.
Coverage coverage_by_subtraction(std::span<const std::int64_t> shape, const Parts& parts) {
  Box whole;
  for (const std::int64_t count : shape) whole.push_back({0, count});
  std::vector<Box> rest{whole};
  std::vector<Box> remaining;
  std::size_t budget = base_budget + budget_per_part * parts.size();
  bool all_dense = true;
  for (std::size_t i = 0; i < parts.size() && !rest.empty(); ++i) {
    if (!std::ranges::all_of(parts[i], [](const Progression& p) { return p.step == 1 || p.count == 1; })) {
      all_dense = false;
      continue;
    }
    if (rest.size() > max_rest || budget < rest.size()) return Coverage::unknown;
    budget -= rest.size();
    remaining.clear();
    for (Box& box : rest) {
      if (have_common_element(box, parts[i])) {
        subtract(std::move(box), parts[i], remaining);
      } else {
        remaining.push_back(std::move(box));
      }
    }
    rest.swap(remaining);
  }
  if (rest.empty()) return Coverage::whole;
  return all_dense ? Coverage::partial : Coverage::unknown;
}

Coverage coverage(std::span<const std::int64_t> shape, const Parts& parts) {
  std::int64_t elements = 1;
  for (const std::int64_t count : shape) elements *= count;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < parts.size() && sum <= elements; ++i) {
    std::int64_t product = 1;
    for (const Progression& p : parts[i]) product *= p.count;
    sum += product;
  }
  if (sum < elements) return Coverage::partial;
  return sum == elements ? coverage_unless_overlapping(shape, parts) : coverage_by_subtraction(shape, parts);
}

/// Sets the bits of the elements of `part`, from dimension `d` on. `position`: the position from the
/// dimensions before `d`.
void mark(std::span<const std::int64_t> shape, Part part, std::size_t d, std::int64_t position,
          std::vector<bool>& marks) {
  if (d == shape.size()) {
    marks[static_cast<std::size_t>(position)] = true;
    return;
  }
  for (std::int64_t i = 0; i < part[d].count; ++i)
    mark(shape, part, d + 1, position * shape[d] + part[d].first + i * part[d].step, marks);
}

/// Marks the elements of a few rows (indexes of the first dimension) at a time.
bool are_all_marked(std::span<const std::int64_t> shape, const Parts& parts) {
  std::int64_t row = 1;
  for (const std::int64_t count : shape.subspan(1)) row *= count;
  const std::int64_t step = std::clamp<std::int64_t>(max_marks / row, 1, shape[0]);
  std::vector<Progression> part(shape.size());
  for (std::int64_t first = 0; first < shape[0]; first += step) {
    const std::int64_t rows = std::min(step, shape[0] - first);
    std::vector<bool> marks(static_cast<std::size_t>(rows * row));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Progression& p = parts[i][0];
      const auto common = formats::intersect(first, rows, 1, p.first, p.count, p.step);
      std::ranges::copy(parts[i], part.begin());
      part[0] = {common.a_first, common.count, common.a_step};
      mark(shape, part, 0, 0, marks);
    }
    if (std::ranges::find(marks, false) != marks.end()) return false;
  }
  return true;
}

}  // namespace

bool covers(std::span<const std::int64_t> shape, const std::vector<Progression>& parts) {
  return coverage(shape, {parts, shape.size()}) == Coverage::whole;
}

bool covers_exactly(std::span<const std::int64_t> shape, const std::vector<Progression>& parts) {
  const Parts list{parts, shape.size()};
  const Coverage quick = coverage(shape, list);
  return quick == Coverage::unknown ? are_all_marked(shape, list) : quick == Coverage::whole;
}

}  // namespace sluice::matcher
