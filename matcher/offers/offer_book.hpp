#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "read_offers.hpp"
#include "sluice/matcher/offer_board.hpp"

namespace sluice::matcher {

/// The offers of steps that processes may take: docs/design/offers.md.
class OfferBook {
 public:
  /// A page of offers, and its group.
  struct Page {
    std::shared_ptr<const SegmentLease> memory;  ///< shared with the pages of its readers
    std::uint32_t rule = 0;
    std::vector<ProcessId> members;    ///< by rank
    std::vector<std::uint32_t> ended;  ///< ranks of members that have ended
    struct Place {
      std::uint32_t slot = 0;
      std::optional<StepOffer> offer;  ///< empty: the group has taken it
      bool is_finished = false;        ///< the group has finished with it, and its read is offered still
    };
    std::map<StepId, Place> steps;
    std::vector<std::uint32_t> free;  ///< slots; the last one is the warmest
    std::size_t finished = 0;         ///< steps
    std::size_t wanted = 0;           ///< how many steps are offered at a time
    [[nodiscard]] std::size_t current() const noexcept { return steps.size() - finished; }  ///< unfinished
    std::uint32_t slots = 0;
  };

  /// `board`: null where no steps are offered.
  OfferBook(OfferBoard* board, ReadOffers& reads) : board_(board), reads_(reads) {}

  [[nodiscard]] bool offers_steps() const noexcept { return board_ != nullptr; }
  [[nodiscard]] std::size_t pages() const noexcept { return pages_.size(); }
  [[nodiscard]] std::uint64_t page_bytes(const OfferedGroup& group) const {
    return board_->page_bytes(group);
  }
  /// Null when the group has none.
  [[nodiscard]] Page* find(std::uint32_t rule, const std::vector<ProcessId>& members) noexcept;
  [[nodiscard]] Page* find(SegmentId page) noexcept;
  [[nodiscard]] bool is_only_page_of(std::uint32_t rule) const noexcept;
  /// Null when the processes cannot be told.
  Page* begin(OfferedGroup group, SegmentLease memory);
  /// Each publication is to be told at once.
  void make_loud(const Page& page) { board_->make_loud(page.memory->id()); }
  [[nodiscard]] bool is_used_up(const Page& page) const { return board_->is_used_up(page.memory->id()); }
  /// If there is none, the readers of the oldest finished step have to ask for it.
  [[nodiscard]] bool has_free_slot(Page& page);
  /// Shows the offer in a free slot. Otherwise its memory is given back, and the result is false.
  bool offer(Page& page, StepOffer offer);

  /// Gives the memory of offers that nobody has taken back. Returns whether there was any.
  bool withdraw(Page& page);
  bool withdraw_all();

  struct Taken {
    const Page& page;
    StepOffer offer;
  };
  /// The process creates the step that it was offered. Throws Error(NC_EINVAL) when it was not.
  [[nodiscard]] Taken take(StepId step, ProcessId process, const Open& open);
  /// All members of the step's group have finished. Its slot stays while its read is offered.
  void end_step(StepId step);
  /// Its groups get no further offers: end_member().
  void end_process(ProcessId process);

 private:
  void clear_read();
  void clear(StepId step);

  OfferBoard* board_;
  ReadOffers& reads_;
  std::list<Page> pages_;
};

}  // namespace sluice::matcher
