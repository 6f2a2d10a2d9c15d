// Memory: where it comes from, and whose it was.
#include <algorithm>

#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

/// Recycled memory first: it is warm, and a put into fresh memory takes several times as long. So what is
/// consumed stays readable only as far as it is little, or the last of its rule; the rest of it until the
/// first need.
std::optional<SegmentLease> Registry::take(MatcherPlace place, const SegmentPool::Request& request,
                                           MemoryKind kind) {
  const std::uint32_t node = place.node;
  const std::uint64_t bytes = request.bytes;
  SegmentPool& memory = pool(node);
  if (const std::uint64_t room = room_for(node, kind); room < memory.limit_bytes()) {
    if (needed_bytes(node) + bytes > room) return std::nullopt;
    while (memory.used_bytes() + bytes > room) {
      if (!erase_consumed(node)) return std::nullopt;
    }
  }
  if (auto segment = memory.recycle(request)) return segment;
  while (consumed_.bytes_on(node, Medium::memory) > retain_bytes_ && recycle_oldest(node)) {
    if (auto segment = memory.recycle(request)) return segment;
  }
  if (auto segment = memory.make(request)) return segment;
  for (;;) {
    if (auto segment = memory.squeeze(request)) return segment;
    if (!may_fit(node, bytes) || !erase_consumed(node)) return std::nullopt;
  }
}

/// Gives up the first consumed step on the node. False when there is none.
bool Registry::erase_consumed(std::uint32_t node) {
  Step* const first = consumed_.first_on(node, Medium::memory);
  if (first == nullptr) return false;
  erase(*first);
  return true;
}

/// What may be used where somebody can wait: where there are several nodes, not the last quarter, so that
/// what readers need of other nodes finds room on a node whose writers have filled it. Readers are what
/// empties it. Where data may go on disk, control blocks and request tables have the last eighth, and of that
/// control blocks a half.
std::uint64_t Registry::room_for(std::uint32_t node, MemoryKind kind) const {
  const std::uint64_t limit = pools_.at(node)->limit_bytes();
  if (kind == MemoryKind::needed) return limit;
  if (pools_.size() > 1) return limit - limit / 4;
  if (!spills()) return limit;
  return limit - limit / (kind == MemoryKind::table ? 16 : 8);
}

/// Gives up the oldest consumed step on the node that is not the last of its rule. False when there is none.
bool Registry::recycle_oldest(std::uint32_t node) {
  Step* const first = consumed_.first_spare_on(node, Medium::memory);
  if (first == nullptr) return false;
  erase(*first);
  return true;
}

/// What would be in use if everything that is consumed went.
std::uint64_t Registry::needed_bytes(std::uint32_t node) const {
  const std::uint64_t used = pools_.at(node)->used_bytes();
  return used - std::min(used, consumed_.bytes_on(node, Medium::memory));
}

/// Whether there would be room then.
bool Registry::may_fit(std::uint32_t node, std::uint64_t bytes) const {
  const std::uint64_t limit = pools_.at(node)->limit_bytes();
  return bytes <= limit && needed_bytes(node) <= limit - bytes;
}

std::string Registry::memory_text(std::uint32_t node, std::uint64_t bytes) const {
  const SegmentPool& memory = *pools_.at(node);
  const std::string where = pools_.size() > 1 ? " of node " + std::to_string(node) : "";
  const auto in_units = [](std::uint64_t value) {
    constexpr std::uint64_t mib = 1 << 20;
    if (value >= 10 * mib) return std::to_string(value / mib) + " MiB";
    return std::to_string((value + 1023) / 1024) + " KiB";
  };
  return in_units(bytes) + " of staging memory" + where + " (" + in_units(memory.used_bytes()) + " of " +
         in_units(memory.limit_bytes()) + " in use)";
}

}  // namespace sluice::matcher
