#include "staging_memory.hpp"

#include <algorithm>

namespace sluice::matcher {

std::optional<SegmentLease> StagingMemory::take(MatcherPlace place, const SegmentPool::Request& request,
                                                MemoryKind kind) {
  auto segment = take_beside_offers(place, request, kind);
  if (!segment && offers_.withdraw_all()) segment = take_beside_offers(place, request, kind);
  return segment;
}

std::size_t StagingMemory::count_recyclable(std::uint32_t node, const SegmentPool::Request& request,
                                            std::span<const ProcessId> processes, MemoryKind kind) const {
  const SegmentPool& memory = pools_.at(node);
  const std::uint64_t room = room_for(node, kind);
  const bool has_limit = room < memory.limit_bytes();
  return memory.count_recyclable(request, processes, has_limit ? room : ~std::uint64_t{0});
}

/// Takes recycled memory first: it is warm, and a put into fresh memory takes several times as long. So
/// consumed steps give up their memory at the first need, except for staging.retain and the last step of each
/// rule.
std::optional<SegmentLease> StagingMemory::take_beside_offers(MatcherPlace place,
                                                              const SegmentPool::Request& request,
                                                              MemoryKind kind) {
  const std::uint32_t node = place.node;
  const std::uint64_t bytes = request.bytes;
  SegmentPool& memory = pools_.at(node);
  const std::uint64_t room = room_for(node, kind);
  const bool is_file_log = request.use == SegmentUse::file && request.bytes >= least_bytes_of_file_log;
  if (request.use == SegmentUse::image || is_file_log) return take_for_image(node, request, room);
  if (room < memory.limit_bytes()) {
    while (needed_bytes(node) + bytes > room) {
      if (!images_.drop_first(node)) return std::nullopt;
    }
    while (memory.used_bytes() + bytes > room) {
      if (!retention_.erase_consumed(node)) return std::nullopt;
    }
  }
  if (auto segment = memory.recycle(request)) return segment;
  while (retention_.has_surplus(node) && retention_.erase_spare(node)) {
    if (auto segment = memory.recycle(request)) return segment;
  }
  if (auto segment = memory.make(request)) return segment;
  for (;;) {
    if (auto segment = memory.squeeze(request)) return segment;
    const bool has_given = may_fit(node, bytes) && retention_.erase_consumed(node);
    if (!has_given && !images_.drop_first(node)) return std::nullopt;
  }
}

/// An image has pages of its own, so nothing is recycled for it. A large file that was written is like one.
std::optional<SegmentLease> StagingMemory::take_for_image(std::uint32_t node,
                                                          const SegmentPool::Request& request,
                                                          std::uint64_t room) {
  SegmentPool& memory = pools_.at(node);
  for (;;) {
    if (memory.used_bytes() + request.bytes <= room) {
      if (auto segment = memory.image(request)) return segment;
    }
    if (!retention_.erase_consumed(node) && !images_.drop_first(node)) return std::nullopt;
  }
}

std::optional<SegmentLease> StagingMemory::take_at_any_cost(MatcherPlace place,
                                                            const SegmentPool::Request& request) {
  auto segment = take(place, request, MemoryKind::needed);
  while (!segment && (retention_.erase_doubtful(place.node) || retention_.erase_given_up(place.node)))
    segment = take(place, request, MemoryKind::needed);
  return segment;
}

/// With several nodes, an asker that can wait does not get the last quarter. Data that readers need from
/// other nodes then fits on a node that its writers have filled, and readers empty the node. The same holds
/// on a node where files are read: their images need room there.
/// When data may go to disk, the last eighth is for request tables and control blocks, and half of it for
/// control blocks alone.
std::uint64_t StagingMemory::room_for(std::uint32_t node, MemoryKind kind) const {
  const std::uint64_t limit = pools_.at(node).limit_bytes();
  if (kind == MemoryKind::needed) return limit;
  if (pools_.nodes() > 1 || images_.are_wanted_on(node)) return limit - limit / 4;
  if (!spills_) return limit;
  return limit - limit / (kind == MemoryKind::table ? 16 : 8);
}

bool StagingMemory::is_plenty(std::uint32_t node, std::uint64_t bytes) const {
  const std::uint64_t half = pools_.at(node).limit_bytes() / 2;
  return bytes <= half && needed_bytes(node) <= half - bytes;
}

/// The bytes in use without consumed steps.
std::uint64_t StagingMemory::needed_bytes(std::uint32_t node) const {
  const std::uint64_t used = pools_.at(node).used_bytes();
  return used - std::min(used, retention_.consumed_bytes(node));
}

/// Whether the bytes fit without consumed steps.
bool StagingMemory::may_fit(std::uint32_t node, std::uint64_t bytes) const {
  const std::uint64_t limit = pools_.at(node).limit_bytes();
  return bytes <= limit && needed_bytes(node) <= limit - bytes;
}

}  // namespace sluice::matcher
