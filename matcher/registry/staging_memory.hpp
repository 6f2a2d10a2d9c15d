#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "node_pools.hpp"
#include "offer_book.hpp"
#include "retention.hpp"
#include "sluice/matcher/matcher_place.hpp"
#include "spare_images.hpp"

namespace sluice::matcher {

/// The urgency of a memory request.
enum class MemoryKind : std::uint8_t {
  spare,  ///< the asker can wait, or use the disk
  table,  ///< the same, for a request table
  needed,
};

/// Takes memory: free memory first, then the memory of steps that are not needed.
class StagingMemory {
 public:
  /// `spills`: data may go to disk.
  StagingMemory(NodePools& pools, Retention& retention, SpareImages& images, OfferBook& offers, bool spills)
      : pools_(pools), retention_(retention), images_(images), offers_(offers), spills_(spills) {}

  /// Returns nothing when memory is available only after a wait. Offers that nobody has taken give theirs up
  /// before.
  [[nodiscard]] std::optional<SegmentLease> take(MatcherPlace place, const SegmentPool::Request& request,
                                                 MemoryKind kind);
  /// How many of the processes, from the first on, get a segment by take() that each has mapped, and that
  /// nobody has to give up for them.
  [[nodiscard]] std::size_t count_recyclable(std::uint32_t node, const SegmentPool::Request& request,
                                             std::span<const ProcessId> processes, MemoryKind kind) const;
  /// The same as take(), but also erases steps that a reader might open again.
  [[nodiscard]] std::optional<SegmentLease> take_at_any_cost(MatcherPlace place,
                                                             const SegmentPool::Request& request);

  /// The same for an offer: other offers stay.
  [[nodiscard]] std::optional<SegmentLease> take_for_offer(MatcherPlace place,
                                                           const SegmentPool::Request& request) {
    return take_beside_offers(place, request, MemoryKind::spare);
  }

  /// How much of the node's memory may be used for this kind.
  [[nodiscard]] std::uint64_t room_for(std::uint32_t node, MemoryKind kind) const;
  /// Whether half of the node's memory would remain free, not counting consumed steps.
  [[nodiscard]] bool is_plenty(std::uint32_t node, std::uint64_t bytes) const;

 private:
  [[nodiscard]] std::optional<SegmentLease> take_beside_offers(MatcherPlace place,
                                                               const SegmentPool::Request& request,
                                                               MemoryKind kind);
  [[nodiscard]] std::optional<SegmentLease> take_for_image(std::uint32_t node,
                                                           const SegmentPool::Request& request,
                                                           std::uint64_t room);
  [[nodiscard]] std::uint64_t needed_bytes(std::uint32_t node) const;
  [[nodiscard]] bool may_fit(std::uint32_t node, std::uint64_t bytes) const;

  NodePools& pools_;
  Retention& retention_;
  SpareImages& images_;
  OfferBook& offers_;
  bool spills_;
};

}  // namespace sluice::matcher
