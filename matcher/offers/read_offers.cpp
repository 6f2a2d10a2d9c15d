#include "read_offers.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

using State = ReadOffers::Page::State;

ReadOffers::Page* ReadOffers::find(SegmentId written, const std::vector<ProcessId>& members) noexcept {
  for (Page& page : pages_)
    if (page.written->id() == written && page.members == members) return &page;
  return nullptr;
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
  page.free.resize(group.slots);
  std::iota(page.free.rbegin(), page.free.rend(), 0);
}

void ReadOffers::offer(SegmentId written, StepId step, const std::vector<SegmentId>& data) {
  for (Page& page : pages_) {
    const bool may_have_it = page.written->id() == written && !page.is_over && !hidden_.contains(page.rule);
    if (!may_have_it || page.free.empty() ||
        !board_->offer_read(page.memory.id(), page.free.back(), step, data))
      continue;
    page.steps[step] = {page.free.back(), State::offered};
    page.free.pop_back();
  }
}

bool ReadOffers::withdraw(Page& page, StepId step) {
  Page::Place& place = page.steps.at(step);
  ended_.push_back(step);
  if (!board_->withdraw(page.memory.id(), place.slot, step)) {
    place.state = State::taken;
    return false;
  }
  page.free.push_back(place.slot);
  page.steps.erase(step);
  return true;
}

bool ReadOffers::withdraw(StepId step) {
  bool is_open = false;
  for (Page& page : pages_) {
    const auto found = page.steps.find(step);
    if (found == page.steps.end()) continue;
    is_open |= found->second.state != State::offered || !withdraw(page, step);
  }
  return !is_open;
}

/// What it has taken stays.
void ReadOffers::withdraw(Page& page, const std::function<bool(StepId)>& goes) {
  for (const auto& [step, place] : std::map(page.steps))
    if (place.state == State::offered && goes(step)) (void)withdraw(page, step);
}

void ReadOffers::withdraw_all_of(std::uint32_t rule, const std::function<bool(StepId)>& goes) {
  for (Page& page : pages_)
    if (page.rule == rule) withdraw(page, goes);
}

bool ReadOffers::has(StepId step, State state) const noexcept {
  return std::ranges::any_of(pages_, [&](const Page& page) {
    const auto found = page.steps.find(step);
    return found != page.steps.end() && found->second.state == state;
  });
}

void ReadOffers::hide(std::uint32_t rule, StepId step, const std::function<bool(StepId)>& may_have_its_name) {
  if (board_ == nullptr) return;
  hidden_[rule].insert(step);
  withdraw_all_of(rule, may_have_its_name);
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
  const auto place = page->steps.find(step);
  if (place == page->steps.end() || place->second.state == State::open) throw is_not_offered;
  const bool fits = open.purpose == Purpose::read && !open.is_look() && page->members.front() == process &&
                    page->rule == open.key.rule && open.member.rank == 0 &&
                    open.member.size == page->members.size();
  if (!fits) throw Error(NC_EINVAL, "the read of step " + std::to_string(step) + " is for others");
  place->second.state = State::open;
  ended_.push_back(step);
  return *page;
}

void ReadOffers::end_read(StepId step, const std::vector<ProcessId>& members) {
  for (Page& page : pages_) {
    const auto found = page.steps.find(step);
    const bool is_here = found != page.steps.end() && found->second.state == State::open;
    if (!is_here || page.members != members) continue;
    const std::uint32_t slot = found->second.slot;
    page.free.push_back(slot);
    page.steps.erase(found);
    return board_->clear(page.memory.id(), slot);
  }
}

void ReadOffers::end_written(SegmentId written) {
  for (Page& page : pages_) {
    if (page.written->id() != written) continue;
    page.is_over = true;
    withdraw(page, any_step);
  }
}

void ReadOffers::end_process(ProcessId process) {
  const auto withdraw_all = [&](Page& page) {
    page.is_over = true;
    withdraw(page, any_step);
    board_->make_loud(page.written->id());
  };
  end_member(pages_, process, withdraw_all, [&](const Page& page) { board_->end(page.memory.id()); });
}

}  // namespace sluice::matcher
