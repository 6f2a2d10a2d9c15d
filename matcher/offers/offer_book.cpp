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

OfferBook::Page* OfferBook::find(SegmentId id) noexcept {
  const auto found = std::ranges::find_if(pages_, [&](const Page& page) { return page.memory->id() == id; });
  return found == pages_.end() ? nullptr : &*found;
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
  if (!is_only_page_of(page.rule)) reads_.withdraw_all_of(page.rule);
  return &page;
}

std::size_t OfferBook::current(const Page& page) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(page.places, [](const Page::Slot& place) {
    return place.offer || (place.step != 0 && !place.is_finished);
  }));
}

std::optional<std::uint32_t> OfferBook::free_slot(Page& page) {
  clear_read(page);
  const auto is_free = [](const Page::Slot& place) { return place.is_free(); };
  auto found = std::ranges::find_if(page.places, is_free);
  while (found == page.places.end()) {
    StepId oldest = 0;
    for (const Page::Slot& place : page.places)
      if (place.is_finished && (oldest == 0 || place.step < oldest)) oldest = place.step;
    if (oldest == 0) return std::nullopt;
    (void)reads_.withdraw(oldest);
    clear_read(page);
    found = std::ranges::find_if(page.places, is_free);
  }
  return static_cast<std::uint32_t>(found - page.places.begin());
}

void OfferBook::clear_read(Page& page) {
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    Page::Slot& place = page.places.at(slot);
    if (!place.is_finished || reads_.is_offered(place.step)) continue;
    place.step = 0;
    place.is_finished = false;
    board_->clear(page.memory->id(), slot);
  }
}

bool OfferBook::offer(Page& page, std::uint32_t slot, StepOffer offer) {
  if (!board_->offer(page.memory->id(), slot, offer)) return false;
  page.places.at(slot).offer = std::move(offer);
  return true;
}

bool OfferBook::withdraw(Page& page) {
  bool has_any = false;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    auto& offer = page.places.at(slot).offer;
    if (!offer || !board_->withdraw(page.memory->id(), slot, offer->step)) continue;
    (void)reads_.withdraw(offer->step);
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

OfferBook::Taken OfferBook::take(StepId step, ProcessId process, const Open& open) {
  for (Page& page : pages_) {
    for (Page::Slot& place : page.places) {
      if (!place.offer || place.offer->step != step) continue;
      const bool fits = page.members.front() == process && page.rule == open.key.rule &&
                        open.member.rank == 0 && open.member.size == page.members.size() &&
                        !open.no_clobber && !open.is_import;
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
      page.places.at(slot).is_finished = true;
      return clear_read(page);
    }
  }
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
