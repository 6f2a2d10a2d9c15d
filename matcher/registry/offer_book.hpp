#pragma once
#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

/// The offers of steps that processes may take: docs/design/offered-steps.md.
class OfferBook {
 public:
  static constexpr std::uint32_t slots = OfferBoard::slots;

  /// A page of offers, and its group.
  struct Page {
    SegmentLease memory;
    std::uint32_t rule = 0;
    std::vector<ProcessId> members;    ///< by rank
    std::vector<std::uint32_t> ended;  ///< ranks of members that have ended
    struct Slot {
      std::optional<StepOffer> offer;  ///< that the group may take
      StepId step = 0;                 ///< that the group has taken, and has not finished; 0: none
      [[nodiscard]] bool is_free() const noexcept { return !offer && step == 0; }
    };
    std::array<Slot, slots> places;
  };

  /// `board`: null where no steps are offered.
  explicit OfferBook(OfferBoard* board) : board_(board) {}

  [[nodiscard]] bool offers_steps() const noexcept { return board_ != nullptr; }
  [[nodiscard]] std::size_t pages() const noexcept { return pages_.size(); }
  [[nodiscard]] std::uint64_t page_bytes(const OfferedGroup& group) const {
    return board_->page_bytes(group);
  }
  /// Null when the group has none.
  [[nodiscard]] Page* find(std::uint32_t rule, const std::vector<ProcessId>& members) noexcept;
  /// Null when the processes cannot be told.
  Page* begin(OfferedGroup group, SegmentLease memory);
  /// Shows the offer in a free slot. Otherwise its memory is given back.
  void offer(Page& page, std::uint32_t slot, StepOffer offer);

  /// Gives the memory of offers that nobody has taken back. Returns whether there was any.
  bool withdraw(Page& page);
  bool withdraw_all();

  struct Taken {
    const Page& page;
    StepOffer offer;
  };
  /// The process creates the step that it was offered. Throws Error(NC_EINVAL) when it was not.
  [[nodiscard]] Taken take(StepId step, ProcessId process, const CreateRequest& request);
  /// All members of the step's group have finished.
  void end_step(StepId step);
  /// Its groups get no further offers. A page goes with its last process, because a process may be about to
  /// write into it as long as it lives.
  void end_process(ProcessId process);

 private:
  OfferBoard* board_;
  std::list<Page> pages_;
};

}  // namespace sluice::matcher
