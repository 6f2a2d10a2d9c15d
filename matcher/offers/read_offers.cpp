#include "read_offers.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

using State = ReadOffers::Page::State;

ReadOffers::Page* ReadOffers::find(SegmentId written, const std::vector<ProcessId>& members) noexcept {
  const auto found = std::ranges::find_if(
      pages_, [&](const Page& page) { return page.written->id() == written && page.members == members; });
  return found == pages_.end() ? nullptr : &*found;
}

void ReadOffers::begin(OfferedGroup group, SegmentLease memory, std::shared_ptr<const SegmentLease> written) {
  group.page = memory.id();
  group.written = written->id();
  if (!board_->begin(group)) return;
  Page& page = pages_.emplace_back();
  page.memory = std::move(memory);
  page.written = std::move(written);
  page.rule = group.rule;
  page.members = std::move(group.members);
}

void ReadOffers::offer(SegmentId written, StepId step, const std::vector<SegmentId>& data) {
  for (Page& page : pages_) {
    if (page.written->id() != written || page.is_over || hidden_.contains(page.rule)) continue;
    const auto free = std::ranges::find(page.places, State::free, &Page::Slot::state);
    if (free == page.places.end()) continue;
    const auto slot = static_cast<std::uint32_t>(free - page.places.begin());
    if (board_->offer_read(page.memory.id(), slot, step, data)) *free = {step, State::offered};
  }
}

bool ReadOffers::withdraw(Page& page, std::uint32_t slot) {
  Page::Slot& place = page.places.at(slot);
  const bool is_withdrawn = board_->withdraw(page.memory.id(), slot, place.step);
  place = is_withdrawn ? Page::Slot{} : Page::Slot{place.step, State::taken};
  return is_withdrawn;
}

bool ReadOffers::withdraw(StepId step) {
  bool is_open = false;
  for (Page& page : pages_) {
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      const Page::Slot& place = page.places.at(slot);
      if (place.step != step || place.state == State::free) continue;
      const bool is_free = place.state == State::offered && withdraw(page, slot);
      is_open = is_open || !is_free;
    }
  }
  return !is_open;
}

void ReadOffers::withdraw_all_of(std::uint32_t rule) {
  for (Page& page : pages_)
    if (page.rule == rule) end(page);
}

/// Its offers go; what it has taken stays.
void ReadOffers::end(Page& page) {
  for (std::uint32_t slot = 0; slot < slots; ++slot)
    if (page.places.at(slot).state == State::offered) (void)withdraw(page, slot);
}

bool ReadOffers::has(StepId step, State state) const noexcept {
  return std::ranges::any_of(pages_, [&](const Page& page) {
    return std::ranges::any_of(
        page.places, [&](const Page::Slot& place) { return place.step == step && place.state == state; });
  });
}

void ReadOffers::hide(std::uint32_t rule, StepId step) {
  if (board_ == nullptr) return;
  hidden_[rule].insert(step);
  withdraw_all_of(rule);
}

void ReadOffers::end_hidden(std::uint32_t rule, StepId step) {
  const auto hidden = hidden_.find(rule);
  if (hidden == hidden_.end()) return;
  hidden->second.erase(step);
  if (hidden->second.empty()) hidden_.erase(hidden);
}

const ReadOffers::Page& ReadOffers::take(SegmentId id, StepId step, ProcessId process, const Open& open) {
  const Error is_not_offered(NC_EINVAL, "the read of step " + std::to_string(step) + " is not offered");
  const auto page = std::ranges::find_if(pages_, [&](const Page& one) { return one.memory.id() == id; });
  if (page == pages_.end()) throw is_not_offered;
  const auto place = std::ranges::find_if(page->places, [&](const Page::Slot& one) {
    return one.step == step && (one.state == State::offered || one.state == State::taken);
  });
  if (place == page->places.end()) throw is_not_offered;
  const bool fits = open.purpose == Purpose::read && !open.is_look() && page->members.front() == process &&
                    page->rule == open.key.rule && open.member.rank == 0 &&
                    open.member.size == page->members.size();
  if (!fits) throw Error(NC_EINVAL, "the read of step " + std::to_string(step) + " is for others");
  place->state = State::open;
  return *page;
}

void ReadOffers::end_read(StepId step, const std::vector<ProcessId>& members) {
  for (Page& page : pages_) {
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      Page::Slot& place = page.places.at(slot);
      if (place.step != step || place.state != State::open || page.members != members) continue;
      place = {};
      return board_->clear(page.memory.id(), slot);
    }
  }
}

void ReadOffers::end_written(SegmentId written) {
  for (Page& page : pages_) {
    if (page.written->id() != written) continue;
    page.is_over = true;
    end(page);
  }
}

void ReadOffers::end_process(ProcessId process) {
  const auto withdraw_all = [&](Page& page) {
    page.is_over = true;
    end(page);
    board_->make_loud(page.written->id());
  };
  end_member(pages_, process, withdraw_all, [&](const Page& page) { board_->end(page.memory.id()); });
}

}  // namespace sluice::matcher
