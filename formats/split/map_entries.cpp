#include "sluice/formats/map_entries.hpp"

#include <algorithm>

namespace sluice::formats {

void MapEntries::append(const ElementRun& run, std::int64_t position, std::int32_t holder) {
  if (run.offset > end_) {
    has_holes_ = true;
    offsets_.push_back(end_);
    positions_.push_back(0);
    holders_.push_back(-1);
  }
  offsets_.push_back(run.offset);
  positions_.push_back(position);
  holders_.push_back(holder);
  end_ = run.offset + run.length;
}

void MapEntries::finish() {
  if (end_ < elements_ || offsets_.empty()) append({elements_, 0}, 0, -1);
}

std::size_t MapEntries::find(std::int64_t offset) const noexcept {
  const auto behind = std::upper_bound(offsets_.begin(), offsets_.end(), offset);
  return static_cast<std::size_t>(behind - offsets_.begin()) - 1;
}

std::shared_ptr<const MapEntries> MapCache::entries_of(int map) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& each) { return each.map == map; });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().entries;
  }
  kept_.push_front({map, std::make_shared<const MapEntries>(load_(map))});
  std::size_t bytes = 0;
  for (auto each = kept_.begin(); each != kept_.end();) {
    bytes += each->entries->bytes();
    each = bytes > most_bytes_ && each != kept_.begin() ? kept_.erase(each) : std::next(each);
  }
  return kept_.front().entries;
}

}  // namespace sluice::formats
