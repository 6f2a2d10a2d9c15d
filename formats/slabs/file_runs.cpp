#include "file_runs.hpp"

#include <algorithm>
#include <array>

namespace sluice::formats {

namespace {

/// A loop over `count` blocks with distance `step_bytes` in the file.
struct Level {
  std::int64_t count;
  std::int64_t step_bytes;
};

/// A selection as nested loops over contiguous blocks; the outermost loop is last.
struct Loops {
  std::int64_t offset_bytes;
  std::int64_t block_bytes;
  std::vector<Level> levels;

  /// Adds an outer loop, or merges it with the block or the inner loop if the file has no gap.
  void wrap(Level level) {
    if (levels.empty() && level.step_bytes == block_bytes) {
      block_bytes *= level.count;
    } else if (!levels.empty() && level.step_bytes == levels.back().count * levels.back().step_bytes) {
      levels.back().count *= level.count;
    } else {
      levels.push_back(level);
    }
  }
};

class RunList {
 public:
  explicit RunList(std::vector<FileRun>& runs) : runs_(runs), first_(runs.size()) {}

  void append(std::int64_t offset_bytes, std::int64_t length_bytes) {
    if (runs_.size() > first_ && runs_.back().offset_bytes + runs_.back().length_bytes == offset_bytes) {
      runs_.back().length_bytes += length_bytes;
    } else {
      runs_.push_back({offset_bytes, length_bytes});
    }
  }

  void append(const Loops& loops) {
    if (loops.levels.empty()) return append(loops.offset_bytes, loops.block_bytes);
    const auto inner = loops.levels.front();
    std::vector<std::int64_t> index(loops.levels.size(), 0);
    auto offset = loops.offset_bytes;
    for (;;) {
      for (std::int64_t i = 0; i < inner.count; ++i) append(offset + i * inner.step_bytes, loops.block_bytes);
      std::size_t level = 1;
      for (; level < loops.levels.size(); ++level) {
        offset += loops.levels[level].step_bytes;
        if (++index[level] < loops.levels[level].count) break;
        offset -= index[level] * loops.levels[level].step_bytes;
        index[level] = 0;
      }
      if (level == loops.levels.size()) return;
    }
  }

 private:
  std::vector<FileRun>& runs_;
  std::size_t first_;
};

}  // namespace

void append_runs(const ElementSteps& steps, std::span<const std::int64_t> start,
                 std::span<const std::int64_t> count, std::span<const std::int64_t> stride,
                 std::vector<FileRun>& runs) {
  if (std::any_of(count.begin(), count.end(), [](std::int64_t n) { return n <= 0; })) return;
  Loops loops{.offset_bytes = steps.begin, .block_bytes = steps.element_bytes, .levels = {}};
  for (std::size_t d = steps.step_bytes.size(); d-- > 0;) {
    const auto step_bytes = steps.step_bytes[d];
    loops.offset_bytes += start[d] * step_bytes;
    // The stride of a single element has no meaning, and may have any value.
    if (count[d] > 1)
      loops.wrap({.count = count[d], .step_bytes = step_bytes * (stride.empty() ? 1 : stride[d])});
  }
  RunList(runs).append(loops);
}

void append_runs(const Header& header, const Layout& layout, int varid, std::span<const std::int64_t> start,
                 std::span<const std::int64_t> count, std::span<const std::int64_t> stride,
                 std::vector<FileRun>& runs) {
  append_runs(steps_of(header, layout, varid), start, count, stride, runs);
}

ElementSteps steps_of(const Header& header, const Layout& layout, int varid) {
  const auto& variable = header.variable(varid);
  ElementSteps steps;
  steps.begin = variable.begin;
  steps.element_bytes = static_cast<std::int64_t>(size_of(variable.type));
  steps.step_bytes.resize(variable.dimids.size());
  auto step = steps.element_bytes;
  for (std::size_t d = variable.dimids.size(); d-- > 0;) {
    const auto& dimension = header.dimension(variable.dimids[d]);
    steps.step_bytes[d] = dimension.is_record ? layout.record_size : step;
    step *= dimension.length;
  }
  return steps;
}

}  // namespace sluice::formats
