#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sluice/matcher/offer_board.hpp"

namespace sluice::matcher {

/// A process has ended. Its groups get nothing more (`withdraw`), and a page goes with the last process of
/// its group (`end`), because a process may be about to write into it as long as it lives.
template <class Page, class Withdraw, class End>
void end_member(std::list<Page>& pages, ProcessId process, const Withdraw& withdraw, const End& end) {
  for (auto page = pages.begin(); page != pages.end();) {
    const auto member = std::ranges::find(page->members, process);
    const bool is_member = member != page->members.end();
    if (is_member) {
      page->ended.push_back(static_cast<std::uint32_t>(member - page->members.begin()));
      withdraw(*page);
    }
    const bool was_last = is_member && page->ended.size() == page->members.size();
    if (was_last) end(*page);
    page = was_last ? pages.erase(page) : std::next(page);
  }
}

/// The reads of offered steps that groups of readers may take without asking: docs/design/offers.md.
class ReadOffers {
 public:
  /// A page of reads, its group, and the writers' page whose steps it offers.
  struct Page {
    SegmentLease memory;
    /// Processes of the group look at it as long as they live; shared with the writers' OfferBook::Page.
    std::shared_ptr<const SegmentLease> written;
    std::uint32_t rule = 0;
    std::vector<ProcessId> members;    ///< by rank
    std::vector<std::uint32_t> ended;  ///< ranks of members that have ended
    bool is_over = false;              ///< the group gets no further reads
    enum class State : std::uint8_t {
      offered,  ///< the group may take it
      taken,    ///< it has, and its letter was not handled yet
      open      ///< the group has the step open
    };
    struct Place {
      std::uint32_t slot = 0;
      State state = State::offered;
    };
    std::map<StepId, Place> steps;
    std::vector<std::uint32_t> free;  ///< slots
  };

  /// `board`: null where no steps are offered.
  explicit ReadOffers(OfferBoard* board) : board_(board) {}

  /// Null when the group has none.
  [[nodiscard]] Page* find(SegmentId written, const std::vector<ProcessId>& members) noexcept;
  [[nodiscard]] std::size_t pages() const noexcept { return pages_.size(); }
  /// Nothing is shown when the processes cannot be told.
  void begin(OfferedGroup group, SegmentLease memory, std::shared_ptr<const SegmentLease> written);

  /// Offers the read of the step, which is offered through the writers' page, to all groups of that page.
  /// `data`: the segments of its data.
  void offer(SegmentId written, StepId step, const std::vector<SegmentId>& data);
  /// Returns false when a group has taken the read: its letter follows, and until then the step is open.
  bool withdraw(StepId step);
  static bool any_step(StepId /*step*/) { return true; }
  void withdraw_all_of(std::uint32_t rule, const std::function<bool(StepId)>& goes = any_step);
  [[nodiscard]] bool is_offered(StepId step) const noexcept { return has(step, Page::State::offered); }
  [[nodiscard]] bool is_taken(StepId step) const noexcept { return has(step, Page::State::taken); }
  /// Steps whose reads a group has taken, or not got, since the last call.
  [[nodiscard]] std::vector<StepId> take_ended() { return std::exchange(ended_, {}); }

  /// A step is in progress that no page tells of. Until it has ended, no further reads of the rule are
  /// offered. Those of steps that may have its name are withdrawn.
  void hide(std::uint32_t rule, StepId step, const std::function<bool(StepId)>& may_have_its_name);
  void end_hidden(std::uint32_t rule, StepId step);

  /// Rank 0 of the page's group has taken the read. Throws Error(NC_EINVAL) when it was not offered.
  [[nodiscard]] const Page& take(SegmentId page, StepId step, ProcessId process, const Open& open);
  /// All members have closed it.
  void end_read(StepId step, const std::vector<ProcessId>& members);
  /// The writers' page gets no further offers.
  void end_written(SegmentId written);
  void end_process(ProcessId process);

 private:
  [[nodiscard]] bool has(StepId step, Page::State state) const noexcept;
  /// Returns false when it was taken.
  bool withdraw(Page& page, StepId step);
  void withdraw(Page& page, const std::function<bool(StepId)>& goes);

  OfferBoard* board_;
  std::list<Page> pages_;
  std::vector<StepId> ended_;
  std::map<std::uint32_t, std::set<StepId>> hidden_;  ///< by rule
};

}  // namespace sluice::matcher
