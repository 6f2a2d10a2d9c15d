#include "sluice/matcher/ownership.hpp"

#include <algorithm>
#include <limits>

namespace sluice::matcher {
namespace {

/// The number of owners, or fewer, so that each part has at least `least_elements` elements when this is
/// known.
std::uint32_t useful_parts(const Partition& partition, std::span<const std::int64_t> shape) noexcept {
  std::int64_t elements = 1;
  for (const std::int64_t length : shape) {
    if (length == 0) return 1;
    if (__builtin_mul_overflow(elements, length, &elements)) return partition.owners;
  }
  const std::int64_t least = std::max<std::int64_t>(partition.least_elements, 1);
  const std::int64_t parts = std::max<std::int64_t>(elements / least, 1);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(parts, partition.owners));
}

/// The slowest dimension with at least `parts` indexes, otherwise the longest; -1 when none has two.
int divided_dimension(std::span<const std::int64_t> shape, std::uint32_t parts) noexcept {
  const auto is_enough = [&](std::int64_t length) { return length >= static_cast<std::int64_t>(parts); };
  auto found = std::ranges::find_if(shape, is_enough);
  if (found == shape.end()) found = std::ranges::max_element(shape);
  return found == shape.end() || *found < 2 ? -1 : static_cast<int>(found - shape.begin());
}

bool has_elements(const formats::HyperslabView& slab) noexcept {
  return std::ranges::find(slab.count, 0) == slab.count.end();
}

}  // namespace

Ownership::Ownership(const Partition& partition, int varid, std::span<const std::int64_t> shape)
    : owners_(std::max<std::uint32_t>(partition.owners, 1)),
      first_owner_(static_cast<std::uint32_t>(std::max(varid, 0)) % owners_) {
  division_.dimensions = static_cast<int>(shape.size());
  if (partition.kind == PartitionKind::variable) return;
  const std::uint32_t wanted = useful_parts(partition, shape);
  if (wanted < 2) return;
  division_.dimension = divided_dimension(shape, wanted);
  if (division_.dimension < 0) return;
  division_.length = shape[static_cast<std::size_t>(division_.dimension)];
  division_.parts = static_cast<std::uint32_t>(std::min<std::int64_t>(wanted, division_.length));
  if (division_.parts == owners_) first_owner_ = 0;
}

std::int64_t Ownership::begin_of(std::uint32_t part) const noexcept {
  return static_cast<std::int64_t>(static_cast<__int128>(division_.length) * part / division_.parts);
}

std::uint32_t Ownership::part_of(std::int64_t index) const noexcept {
  if (division_.dimension < 0) return 0;
  const std::int64_t inside = std::clamp<std::int64_t>(index, 0, division_.length - 1);
  // The last part that begins at or before the index.
  return static_cast<std::uint32_t>((static_cast<__int128>(inside) * division_.parts + division_.parts - 1) /
                                    division_.length);
}

std::optional<IndexRange> Ownership::range_of(std::uint32_t owner) const noexcept {
  const std::uint32_t part = part_of_owner(owner);
  if (part >= division_.parts) return std::nullopt;
  if (division_.dimension < 0) return IndexRange{0, 0};
  // Indexes beyond belong to the last part.
  const bool is_last = part + 1 == division_.parts;
  return IndexRange{begin_of(part), is_last ? std::numeric_limits<std::int64_t>::max() : begin_of(part + 1)};
}

std::uint32_t Ownership::owner_of(std::span<const std::int64_t> index) const noexcept {
  return owner_of_part(
      division_.dimension < 0 ? 0 : part_of(index[static_cast<std::size_t>(division_.dimension)]));
}

void Ownership::divide(const formats::HyperslabView& slab, std::vector<OwnedPart>& parts) const {
  if (!has_elements(slab)) return;
  if (division_.dimension < 0) {
    parts.push_back({owner_of_part(0), 0, slab.elements()});
    return;
  }
  const auto d = static_cast<std::size_t>(division_.dimension);
  const std::int64_t start = slab.start[d];
  const std::int64_t count = slab.count[d];
  const std::int64_t stride = slab.stride_of(division_.dimension);
  for (std::int64_t first = 0; first < count;) {
    const std::uint32_t part = part_of(start + first * stride);
    std::int64_t end = count;
    if (part + 1 < division_.parts) {
      // to the next part, which begins behind `first`
      const std::int64_t distance = begin_of(part + 1) - start;
      end = std::min(count, distance / stride + (distance % stride != 0 ? 1 : 0));
    }
    parts.push_back({owner_of_part(part), first, end - first});
    first = end;
  }
}

formats::HyperslabView PartOfSlab::cut(const formats::HyperslabView& slab, int dimension,
                                       const OwnedPart& part) {
  if (dimension < 0) return slab;
  const auto d = static_cast<std::size_t>(dimension);
  if (part.count == slab.count[d]) return slab;
  start_.assign(slab.start.begin(), slab.start.end());
  count_.assign(slab.count.begin(), slab.count.end());
  start_[d] += part.first * slab.stride_of(dimension);
  count_[d] = part.count;
  return {start_, count_, slab.stride};
}

}  // namespace sluice::matcher
