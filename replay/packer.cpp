#include "sluice/replay/packer.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "copy_bounds.hpp"
#include "fold.hpp"
#include "log_window.hpp"
#include "rows.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/log_range.hpp"

namespace sluice::replay {

namespace {

void gather(const Row& row, std::int64_t element_bytes) noexcept {
  switch (element_bytes) {
    case 1:
      return CopyRow<1>{}(row);
    case 2:
      return CopyRow<2>{}(row);
    case 4:
      return CopyRow<4>{}(row);
    default:
      return CopyRow<8>{}(row);
  }
}

}  // namespace

Packer::Packer(Plan plan, std::size_t element_bytes)
    : plan_(std::move(plan)), element_bytes_(static_cast<std::int64_t>(element_bytes)) {
  static_assert(most_dimensions == max_copy_dimensions);
  std::erase_if(plan_.copies, [](const Copy& copy) { return copy.is_fill; });
  for (const Copy& copy : plan_.copies) {
    const std::uint64_t bytes = packed_bytes(plan_, copy, element_bytes);
    if (__builtin_add_overflow(bytes_, bytes, &bytes_)) throw Error(NC_EIO, "a copy plan is too large");
  }
}

/// The fastest dimension of the current copy; one element if the copy has no dimension.
CopyDimension Packer::row() const noexcept {
  const auto dimensions = plan_.dimensions_of(plan_.copies[next_]);
  return dimensions.empty() ? CopyDimension{1, element_bytes_, 1} : dimensions.back();
}

void Packer::advance(std::int64_t elements) {
  in_row_ += elements;
  if (in_row_ < row().count) return;
  in_row_ = 0;
  const auto dimensions = plan_.dimensions_of(plan_.copies[next_]);
  for (std::size_t d = dimensions.empty() ? 0 : dimensions.size() - 1; d-- > 0;) {
    const CopyDimension& slower = dimensions[d];
    row_start_ += slower.source_step_bytes;
    if (++index_[d] < slower.count) return;
    index_[d] = 0;
    row_start_ -= slower.count * slower.source_step_bytes;
  }
  ++next_;
  row_start_ = 0;
}

std::size_t Packer::pack(LogReader& log, std::span<std::byte> room) {
  LogWindow window(log);  // for this call only: segments may move before the next call
  std::size_t used = 0;
  while (next_ < plan_.copies.size()) {
    const std::int64_t fits = static_cast<std::int64_t>(room.size() - used) / element_bytes_;
    if (fits == 0) break;
    const Copy& copy = plan_.copies[next_];
    const CopyDimension dimension = row();
    std::int64_t count = std::min(dimension.count - in_row_, fits);
    const std::uint64_t first =
        copy.log_offset + static_cast<std::uint64_t>(row_start_ + in_row_ * dimension.source_step_bytes);
    const std::int64_t reach = (count - 1) * dimension.source_step_bytes;
    const std::uint64_t lowest = reach < 0 ? first + static_cast<std::uint64_t>(reach) : first;
    const std::uint64_t end =
        lowest + static_cast<std::uint64_t>(std::abs(reach)) + static_cast<std::uint64_t>(element_bytes_);
    const std::byte* source = window.find(copy.writer, lowest, end);
    if (source != nullptr) {
      source += first - lowest;
    } else if (dimension.source_step_bytes == element_bytes_) {  // up to the end of the segment
      const std::uint64_t bytes = window.bytes_from(copy.writer, first);
      count = std::min(count, static_cast<std::int64_t>(bytes) / element_bytes_);
      if (count > 0) {
        source = window.find(copy.writer, first, first + static_cast<std::uint64_t>(count * element_bytes_));
      }
    } else {
      count = 1;
      source = window.find(copy.writer, first, first + static_cast<std::uint64_t>(element_bytes_));
    }
    if (source == nullptr) throw Error(NC_EIO, "an element is not in one piece in its log");
    gather({.source = source,
            .destination = room.data() + used,
            .count = count,
            .source_step = dimension.source_step_bytes,
            .destination_step = element_bytes_,
            .is_big_endian = matcher::is_of_file(copy.log_offset)},
           element_bytes_);
    used += static_cast<std::size_t>(count * element_bytes_);
    advance(count);
  }
  return used;
}

std::span<const std::byte> Packer::pass(LogReader& log, std::size_t bytes) {
  if (is_done()) return {};
  const CopyDimension dimension = row();
  const auto elements = static_cast<std::int64_t>(bytes) / element_bytes_;
  const bool is_as_packed = dimension.source_step_bytes == element_bytes_ && elements > 0 &&
                            elements * element_bytes_ == static_cast<std::int64_t>(bytes) &&
                            elements <= dimension.count - in_row_;
  if (!is_as_packed) return {};
  const Copy& copy = plan_.copies[next_];
  if (element_bytes_ > 1 && matcher::is_of_file(copy.log_offset)) return {};
  const std::uint64_t first =
      copy.log_offset + static_cast<std::uint64_t>(row_start_ + in_row_ * dimension.source_step_bytes);
  const std::span<const std::byte> found = log.at(copy.writer, first);
  if (found.size() < bytes) return {};
  advance(elements);
  return found.first(bytes);
}

std::uint64_t packed_bytes(const Plan& plan, const Copy& copy, std::size_t element_bytes) {
  const bool is_known_size =
      element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8;
  if (!is_known_size || copy.dimensions > max_copy_dimensions ||
      copy.first_dimension > plan.dimensions.size() ||
      copy.dimensions > plan.dimensions.size() - copy.first_dimension) {
    throw Error(NC_EIO, "a copy plan has dimensions that are not there, or elements of no type");
  }
  (void)source_range(plan, copy, element_bytes);
  return static_cast<std::uint64_t>(bounds_of(plan.dimensions_of(copy)).elements) * element_bytes;
}

SourceRange dense_source(const Plan& plan, const Copy& copy, std::size_t element_bytes) {
  const SourceRange range = source_range(plan, copy, element_bytes);
  std::vector<CopyDimension> dimensions(plan.dimensions_of(copy).begin(), plan.dimensions_of(copy).end());
  std::ranges::sort(dimensions, {}, [](const CopyDimension& d) { return std::abs(d.source_step_bytes); });
  std::int64_t extent = static_cast<std::int64_t>(element_bytes);
  for (const CopyDimension& dimension : dimensions) {
    if (std::abs(dimension.source_step_bytes) != extent) return {};
    extent *= dimension.count;
  }
  return range;
}

void Redirection::redirect(Plan& plan, std::size_t copy, std::uint32_t writer, std::uint64_t log_offset) {
  Copy& redirected = plan.copies[copy];
  redirected.writer = writer;
  redirected.log_offset = log_offset;
  if (redirected.dimensions == 0) return;
  const auto old = plan.dimensions_of(redirected);
  std::vector<CopyDimension> dimensions(old.begin(), old.end());
  std::int64_t step = static_cast<std::int64_t>(element_bytes_);
  for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
    dimension->source_step_bytes = step;
    step *= dimension->count;
  }
  redirected.first_dimension = static_cast<std::uint32_t>(plan.dimensions.size());
  plan.dimensions.insert(plan.dimensions.end(), dimensions.begin(), dimensions.end());
}

Plan Redirection::simplify(Plan plan) {
  return fold(std::move(plan));
}

}  // namespace sluice::replay
