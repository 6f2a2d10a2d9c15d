// The session's side of steps that the registry offers ahead.
#include <algorithm>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/send_time.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

/// Whatever fails here, the group sends messages.
std::optional<Session::Offer> Session::find_offer(std::uint32_t rule, const Member& member) noexcept {
  try {
    if (is_forked_child() || member.spans_nodes || !has_shared_clock()) return std::nullopt;
    std::vector<std::uint64_t> pages;
    {
      const std::lock_guard lock(mutex_);
      for (const OffersNotice& offers : offers_) {
        if (offers.written == 0 && offers.rule == rule && offers.rank == member.rank &&
            offers.size == member.size)
          pages.push_back(offers.page);
      }
    }
    if (pages.empty() || !is_alive()) return std::nullopt;
    Offer offer;
    offer.rank = member.rank;
    std::optional<OfferPage::Found> first;
    const auto find_first = [&](std::uint64_t page) {
      auto mapping = segments_.mapping(page, Mapping::Access::read_write);
      const auto found = OfferPage(mapping->writable()).find(member.rank);
      if (!found || (first && first->step < found->step)) return;
      first = found;
      offer.page = std::move(mapping);
    };
    std::ranges::for_each(pages, find_first);
    // The writer is ahead of the registry, which now takes the letters, and makes the next offers.
    if (!first && may_ask_for_offers_.exchange(false)) {
      await_taken();
      std::ranges::for_each(pages, find_first);
    }
    if (!first) return std::nullopt;
    may_ask_for_offers_ = true;
    const auto knows_all = [&] {
      const auto knows = [&](std::uint64_t segment) { return segment == 0 || segments_.knows(segment); };
      return knows(first->control) && knows(first->log.table) && knows(first->log.data);
    };
    if (!knows_all()) read_notices();
    if (!knows_all()) return std::nullopt;
    offer.slot = first->slot;
    offer.step = first->step;
    offer.control = first->control;
    (void)segments_.mapping(offer.control, Mapping::Access::read_write);
    if (first->log.table != 0) offer.table = map_segment(first->log.table);
    if (first->log.data != 0) offer.data = map_segment(first->log.data);
    return offer;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool Session::take_offer(const Offer& offer, const Open& request) noexcept {
  try {
    Open taken = request;
    taken.taken.step = offer.step;
    const auto fields = encode(taken);
    const OfferPage page(offer.page->writable());
    const std::lock_guard lock(taking_);
    return page.take(offer.slot, offer.step, MessageType::open, fields, send_time());
  } catch (const std::exception&) {
    return false;
  }
}

bool Session::post_header(Offer& offer, const HeaderRequest& request) const {
  const bool is_posted = OfferPage(offer.page->writable())
                             .post(offer.slot, offer.rank, MessageType::header, encode(request), send_time());
  if (!is_posted) offer.has_sent_header = true;
  return is_posted;
}

void Session::close(const Offer& offer, const PublishRequest& request) {
  const OfferPage page(offer.page->writable());
  // Readers who find all letters take the header from them. So a letter has to be missing.
  const bool is_posted = !offer.has_sent_header && page.post(offer.slot, offer.rank, MessageType::close,
                                                             encode(Close{request}), send_time());
  if (is_posted) {
    forget_owed(request.step);
    forget_opened(request.step);
  } else {
    close({request});
  }
  if (page.leave(offer.slot, offer.step)) {
    OfferPage::Bell& bell = page.bell();
    ring(bell);
    // The registry makes the page loud, and then looks for letters.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (bell.is_quiet == 0 || page.offered() < bell.few) return tell_of_mail(bell);
  }
  if (!is_alive()) lose("it was closed");
}

}  // namespace sluice::runtime
