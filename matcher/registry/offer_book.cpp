#include "offer_book.hpp"

#include <algorithm>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

OfferBook::Page* OfferBook::find(std::uint32_t rule, const std::vector<ProcessId>& members) noexcept {
  const auto found = std::ranges::find_if(
      pages_, [&](const Page& page) { return page.rule == rule && page.members == members; });
  return found == pages_.end() ? nullptr : &*found;
}

OfferBook::Page* OfferBook::begin(OfferedGroup group, SegmentLease memory) {
  group.page = memory.id();
  if (!board_->begin(group)) return nullptr;
  Page& page = pages_.emplace_back();
  page.memory = std::move(memory);
  page.rule = group.rule;
  page.members = std::move(group.members);
  return &page;
}

void OfferBook::offer(Page& page, std::uint32_t slot, StepOffer offer) {
  if (board_->offer(page.memory.id(), slot, offer)) page.places.at(slot).offer = std::move(offer);
}

bool OfferBook::withdraw(Page& page) {
  bool has_any = false;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    auto& offer = page.places.at(slot).offer;
    if (!offer || !board_->withdraw(page.memory.id(), slot, offer->step)) continue;
    offer.reset();
    has_any = true;
  }
  return has_any;
}

bool OfferBook::withdraw_all() {
  bool has_any = false;
  for (Page& page : pages_) has_any = withdraw(page) || has_any;
  return has_any;
}

OfferBook::Taken OfferBook::take(StepId step, ProcessId process, const CreateRequest& request) {
  for (Page& page : pages_) {
    for (Page::Slot& place : page.places) {
      if (!place.offer || place.offer->step != step) continue;
      const bool fits = page.members.front() == process && page.rule == request.key.rule &&
                        request.member.rank == 0 && request.member.size == page.members.size() &&
                        !request.no_clobber && !request.is_import;
      if (!fits) throw Error(NC_EINVAL, "the offer of step " + std::to_string(step) + " is for others");
      place.step = step;
      return {page, *std::exchange(place.offer, std::nullopt)};
    }
  }
  throw Error(NC_EINVAL, "step " + std::to_string(step) + " is not offered");
}

void OfferBook::end_step(StepId step) {
  for (Page& page : pages_) {
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      if (page.places.at(slot).step != step) continue;
      page.places.at(slot).step = 0;
      return board_->clear(page.memory.id(), slot);
    }
  }
}

void OfferBook::end_process(ProcessId process) {
  for (auto page = pages_.begin(); page != pages_.end();) {
    const auto member = std::ranges::find(page->members, process);
    if (member == page->members.end()) {
      ++page;
      continue;
    }
    page->ended.push_back(static_cast<std::uint32_t>(member - page->members.begin()));
    (void)withdraw(*page);
    if (page->ended.size() < page->members.size()) {
      ++page;
      continue;
    }
    board_->end(page->memory.id());
    page = pages_.erase(page);
  }
}

}  // namespace sluice::matcher
