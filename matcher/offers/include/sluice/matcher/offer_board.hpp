#pragma once
#include <cstdint>
#include <vector>

#include "sluice/matcher/open.hpp"
#include "sluice/matcher/segment_pool.hpp"

namespace sluice::matcher {

/// A step that is offered to a group of writers ahead of its create: docs/design/offers.md.
struct StepOffer {
  StepId step = 0;
  SegmentLease control;
  struct Log {
    SegmentLease table;  ///< empty: none
    SegmentLease data;   ///< empty: none
  };
  std::vector<Log> logs;  ///< by rank
};

/// The processes of a group that gets offers, and the segment through which it gets them.
struct OfferedGroup {
  SegmentId page = 0;
  std::uint32_t rule = 0;
  std::vector<ProcessId> members;  ///< by rank
  std::uint64_t header_bytes = 0;  ///< of the last step
  SegmentId written = 0;  ///< for readers: the writers' page whose steps they may read; 0: for writers
  std::uint32_t slots =
      0;  ///< for steps that are offered, in progress, or finished while their read is offered
};

/// Shows offers to processes. Implementations must not call the registry.
class OfferBoard {
 public:
  /// Larger groups get no offers.
  static constexpr std::uint32_t most_ranks = 1024;
  virtual ~OfferBoard() = default;
  /// The size of a page for such a group.
  [[nodiscard]] virtual std::uint64_t page_bytes(const OfferedGroup& group) const = 0;
  /// The page is new, and zero. Returns false when it cannot be shown.
  [[nodiscard]] virtual bool begin(const OfferedGroup& group) = 0;
  /// The slot has no offer. Returns false when the offer cannot be shown.
  [[nodiscard]] virtual bool offer(SegmentId page, std::uint32_t slot, const StepOffer& offer) = 0;
  /// The same for the read of a step, in a readers' page. `data`: the segments that they will read.
  [[nodiscard]] virtual bool offer_read(SegmentId page, std::uint32_t slot, StepId step,
                                        const std::vector<SegmentId>& data) = 0;
  /// Returns false when the group has taken the offer: Registry::open() follows.
  [[nodiscard]] virtual bool withdraw(SegmentId page, std::uint32_t slot, StepId step) noexcept = 0;
  /// The step of the slot was taken, and all processes have finished with it.
  virtual void clear(SegmentId page, std::uint32_t slot) noexcept = 0;
  /// Whether the group has taken all offers, as far as can be seen.
  [[nodiscard]] virtual bool is_used_up(SegmentId page) const noexcept = 0;
  /// All processes of the group have ended.
  virtual void end(SegmentId page) noexcept = 0;
  /// From now on, the writers of the page wake the registry at each publication.
  virtual void make_loud(SegmentId page) noexcept = 0;
};

}  // namespace sluice::matcher
