#include "offer_pages.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/send_time.hpp"

namespace sluice::runtime {

std::uint64_t OfferPages::page_bytes(const matcher::OfferedGroup& group) const {
  const auto size = static_cast<std::uint32_t>(group.members.size());
  return OfferPage::bytes_of(OfferPage::shape_for(size, group.header_bytes, group.slots));
}

bool OfferPages::begin(const matcher::OfferedGroup& group) {
  const auto size = static_cast<std::uint32_t>(group.members.size());
  const auto shape = OfferPage::shape_for(size, group.header_bytes, group.slots);
  try {
    auto [memory, keeper] = clients_.memory_of(group.page);
    if (memory.size() < OfferPage::bytes_of(shape)) return false;
    Page page{OfferPage::begin(memory, shape), std::move(keeper), {}, {}, false};
    page.taken.resize(group.slots);
    for (const matcher::ProcessId process : group.members) {
      const auto connection = connection_of_(process);
      if (!connection) return false;
      page.members.push_back(clients_.member_of(*connection));
    }
    for (const OfferMember& member : page.members) {
      clients_.introduce(member, group.page);
      if (group.written != 0) clients_.introduce(member, group.written);
    }
    for (std::uint32_t rank = 0; rank < size; ++rank)
      clients_.tell(page.members[rank], {group.page, group.rule, rank, size, group.written});
    if (group.written == 0) page.memory.bell().is_quiet.store(is_quiet_ ? 1 : 0);
    pages_.emplace(group.page, std::move(page));
  } catch (const Error&) {  // no descriptor, no address space, or a process has ended
    return false;
  }
  return true;
}

/// A process that does not know the segments yet hears of them by its socket, and reads that when it finds
/// the offer.
bool OfferPages::offer(matcher::SegmentId id, std::uint32_t slot, const matcher::StepOffer& offer) {
  const auto found = pages_.find(id);
  if (found == pages_.end()) return false;
  Page& page = found->second;
  OfferedSegments shown{offer.step, offer.control.id(), {}};
  try {
    for (std::size_t rank = 0; rank < offer.logs.size(); ++rank) {
      const matcher::StepOffer::Log& log = offer.logs[rank];
      shown.logs.push_back({log.table.empty() ? 0 : log.table.id(), log.data.empty() ? 0 : log.data.id()});
      for (const matcher::SegmentId segment :
           {shown.control, shown.logs.back().table, shown.logs.back().data})
        if (segment != 0) clients_.introduce(page.members[rank], segment);
    }
  } catch (const Error&) {
    return false;
  }
  page.taken[slot].assign(offer.logs.size(), 0);
  page.memory.offer(slot, shown);
  page.memory.bell().few.store(std::max(2U, page.memory.offered() / 4));  // the next ones take some time
  return true;
}

/// Readers of many writers' data hear of its segments when they ask for plans. So do those that are busy
/// elsewhere, while any number of steps is written.
bool OfferPages::offer_read(matcher::SegmentId id, std::uint32_t slot, matcher::StepId step,
                            const std::vector<matcher::SegmentId>& data) {
  constexpr std::size_t most_introduced = 16;
  const auto found = pages_.find(id);
  if (found == pages_.end()) return false;
  Page& page = found->second;
  try {
    for (const OfferMember& member : page.members) {
      if (clients_.is_behind(member)) continue;
      for (std::size_t i = 0; i < data.size() && data.size() <= most_introduced; ++i)
        clients_.introduce(member, data[i]);
    }
  } catch (const Error&) {
    return false;
  }
  page.taken[slot].assign(page.members.size(), 0);
  page.memory.offer(slot, {step, 0, std::vector<OfferedLog>(page.members.size())});
  return true;
}

void OfferPages::make_loud(matcher::SegmentId id) noexcept {
  const auto found = pages_.find(id);
  if (found == pages_.end()) return;
  found->second.is_loud = true;
  found->second.memory.bell().is_quiet.store(0);
}

/// A process leaves its letter and then looks whether the page is quiet. The matcher makes the page loud and
/// then looks for letters. At least one of them sees what the other has done.
void OfferPages::set_quiet(bool is_quiet) {
  if (is_quiet == is_quiet_) return;
  is_quiet_ = is_quiet;
  for (auto& [id, page] : pages_) page.memory.bell().is_quiet.store(is_quiet && !page.is_loud ? 1 : 0);
  if (is_quiet || pages_.empty()) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  clients_.take_mail_later();
}

bool OfferPages::withdraw(matcher::SegmentId id, std::uint32_t slot, matcher::StepId step) noexcept {
  const auto found = pages_.find(id);
  return found == pages_.end() || found->second.memory.withdraw(slot, step);
}

bool OfferPages::is_used_up(matcher::SegmentId id) const noexcept {
  const auto found = pages_.find(id);
  return found != pages_.end() && found->second.memory.offered() == 0;
}

void OfferPages::clear(matcher::SegmentId id, std::uint32_t slot) noexcept {
  if (const auto found = pages_.find(id); found != pages_.end()) found->second.memory.clear(slot);
}

void OfferPages::take_mail(std::uint64_t until) {
  bool is_left = false;
  for (auto& [id, page] : pages_) {
    page.memory.bell().is_called.exchange(0);  // of who has not called because of it, the letters are here
    for (std::uint32_t slot = 0; slot < page.memory.slots(); ++slot) {
      const auto seen = page.memory.look(slot);
      if (seen.state == OfferPage::State::taken) is_left |= collect(page, slot, seen.step, until);
    }
  }
  if (is_left) clients_.take_mail_later();
  if (found_.empty() || found_.begin()->first > until) return;
  clients_.look_for_messages();
  while (!found_.empty() && found_.begin()->first <= until) {
    if (clients_.handle_earlier(found_.begin()->first)) continue;
    auto next = found_.extract(found_.begin());
    deliver(next.mapped());
  }
}

/// Returns whether there are later letters.
bool OfferPages::collect(Page& page, std::uint32_t slot, matcher::StepId step, std::uint64_t until) {
  constexpr std::size_t has_closed = std::numeric_limits<std::size_t>::max();  // nothing comes any more
  bool is_left = false;
  std::vector<std::size_t>& taken = page.taken[slot];
  for (std::uint32_t rank = 0; rank < taken.size(); ++rank) {
    if (taken[rank] == has_closed) continue;
    const std::size_t end = page.memory.mail_bytes(slot, rank);
    if (end <= taken[rank]) continue;
    try {
      for (OfferPage::Letter& letter : page.memory.letters(slot, rank, taken[rank], end, shared_clock())) {
        is_left |= letter.time > until;
        if (letter.time > until) break;
        taken[rank] = letter.type == MessageType::close ? has_closed : letter.end;
        const bool is_begin = letter.type == MessageType::open;
        const std::uint64_t time = letter.time;
        found_.emplace(time, Mail{page.members[rank], std::move(letter),
                                  is_begin ? page.members : std::vector<OfferMember>{}, step});
      }
    } catch (const Error& error) {
      taken[rank] = end;
      clients_.hang_up(page.members[rank], error.what());
    }
  }
  return is_left;
}

void OfferPages::deliver(Mail& mail) {
  for (const OfferMember& member : mail.group) clients_.note_open(member, mail.step);
  try {
    clients_.handle(mail.sender, std::move(mail.letter));
  } catch (const Error& error) {
    clients_.hang_up(mail.sender, error.what());
  }
}

}  // namespace sluice::runtime
