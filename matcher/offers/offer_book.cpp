#include "offer_book.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

OfferBook::Page* OfferBook::find(std::uint32_t rule, const std::vector<ProcessId>& members) noexcept {
  for (Page& page : pages_)
    if (page.rule == rule && page.members == members) return &page;
  return nullptr;
}

OfferBook::Page* OfferBook::find(SegmentId id) noexcept {
  for (Page& page : pages_)
    if (page.memory->id() == id) return &page;
  return nullptr;
}

bool OfferBook::is_only_page_of(std::uint32_t rule) const noexcept {
  return std::ranges::count(pages_, rule, &Page::rule) == 1;
}

OfferBook::Page* OfferBook::begin(OfferedGroup group, SegmentLease memory) {
  group.page = memory.id();
  if (!board_->begin(group)) return nullptr;
  Page& page = pages_.emplace_back();
  page.memory = std::make_shared<const SegmentLease>(std::move(memory));
  page.rule = group.rule;
  page.members = std::move(group.members);
  page.slots = group.slots;
  page.free.resize(group.slots);
  std::iota(page.free.rbegin(), page.free.rend(), 0);
  if (!is_only_page_of(page.rule)) reads_.withdraw_all_of(page.rule);
  return &page;
}

bool OfferBook::has_free_slot(Page& page) {
  clear_read();
  while (page.free.empty() && page.finished > 0) {
    const auto is_finished = [](const auto& step) { return step.second.is_finished; };
    (void)reads_.withdraw(std::ranges::find_if(page.steps, is_finished)->first);
    clear_read();
  }
  return !page.free.empty();
}

void OfferBook::clear_read() {
  for (const StepId step : reads_.take_ended()) clear(step);
}

/// Unless the group has not finished with it, or its read is offered still.
void OfferBook::clear(StepId step) {
  for (Page& page : pages_) {
    const auto found = page.steps.find(step);
    if (found == page.steps.end() || !found->second.is_finished || reads_.is_offered(step)) continue;
    const std::uint32_t slot = found->second.slot;
    page.free.push_back(slot);
    page.steps.erase(found);
    --page.finished;
    board_->clear(page.memory->id(), slot);
  }
}

bool OfferBook::offer(Page& page, StepOffer offer) {
  const std::uint32_t slot = page.free.back();
  if (!board_->offer(page.memory->id(), slot, offer)) return false;
  page.free.pop_back();
  const StepId step = offer.step;
  page.steps[step] = {slot, std::move(offer), false};
  return true;
}

bool OfferBook::withdraw(Page& page) {
  const std::size_t before = page.steps.size();
  std::erase_if(page.steps, [&](const auto& entry) {
    const auto& [step, place] = entry;
    if (!place.offer || !board_->withdraw(page.memory->id(), place.slot, step)) return false;
    (void)reads_.withdraw(step);
    page.free.push_back(place.slot);
    return true;
  });
  return page.steps.size() < before;
}

bool OfferBook::withdraw_all() {
  bool has_any = false;
  for (Page& page : pages_) has_any = withdraw(page) || has_any;
  return has_any;
}

OfferBook::Taken OfferBook::take(StepId step, ProcessId process, const Open& open) {
  for (Page& page : pages_) {
    const auto place = page.steps.find(step);
    if (place == page.steps.end() || !place->second.offer) continue;
    const bool fits = page.members.front() == process && page.rule == open.key.rule &&
                      open.member.rank == 0 && open.member.size == page.members.size() && !open.no_clobber &&
                      !open.is_import;
    if (!fits) throw Error(NC_EINVAL, "the offer of step " + std::to_string(step) + " is for others");
    return {page, *std::exchange(place->second.offer, std::nullopt)};
  }
  throw Error(NC_EINVAL, "step " + std::to_string(step) + " is not offered");
}

void OfferBook::end_step(StepId step) {
  for (Page& page : pages_) {
    const auto place = page.steps.find(step);
    if (place == page.steps.end()) continue;
    place->second.is_finished = true;
    ++page.finished;
  }
  clear(step);
  clear_read();
}

void OfferBook::end_process(ProcessId process) {
  const auto end = [&](const Page& page) {
    reads_.end_written(page.memory->id());
    board_->end(page.memory->id());
  };
  end_member(
      pages_, process, [&](Page& page) { (void)withdraw(page); }, end);
}

}  // namespace sluice::matcher
