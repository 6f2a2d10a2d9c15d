#include "sluice/runtime/offer_page.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

struct alignas(64) OfferPage::Head {
  std::uint32_t ranks;
  std::uint32_t root_mail_bytes;
  std::uint32_t mail_bytes;
  std::uint32_t slots;
  Bell bell;
};

/// Its word is elsewhere: whoever looks for a slot looks at all words.
struct alignas(64) OfferPage::Slot {
  std::atomic<std::uint64_t> control;
  /// The step, and the number of processes that have posted their last letter.
  std::atomic<std::uint64_t> left;
};

/// In front of the bytes of a mailbox.
struct alignas(64) OfferPage::Box {
  std::atomic<std::uint64_t> table;
  std::atomic<std::uint64_t> data;
  std::atomic<std::uint64_t> bytes;  ///< of letters; only the rank itself raises it
};

namespace {

constexpr std::size_t line_bytes = 64;
constexpr std::size_t letter_alignment = 8;

struct LetterHead {
  std::uint32_t length = 0;
  std::uint16_t type = 0;
  std::uint16_t reserved = 0;
  std::uint64_t time = 0;
};

constexpr std::uint64_t states = 4;
/// More than a group has processes. With so many, bytes_of() does not overflow, whatever a page says.
constexpr std::uint64_t counts = 1U << 16;
constexpr std::uint32_t most_slots = 1U << 12;

std::uint64_t word_of(std::uint64_t step, OfferPage::State state) noexcept {
  return step * states + static_cast<std::uint64_t>(state);
}

std::size_t letter_bytes(std::size_t fields) noexcept {
  return (sizeof(LetterHead) + fields + letter_alignment - 1) / letter_alignment * letter_alignment;
}

std::uint32_t in_lines(std::uint64_t bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + line_bytes - 1) / line_bytes * line_bytes);
}

}  // namespace

OfferPage::Shape OfferPage::shape_for(std::uint32_t ranks, std::uint64_t header_bytes,
                                      std::uint32_t slots) noexcept {
  constexpr std::uint64_t most_header_bytes = 1U << 20;  // longer ones go by messages
  constexpr std::uint64_t room_for_others = 4096;
  constexpr std::uint32_t mail_bytes = 1024;
  const std::uint64_t header = std::min(header_bytes, most_header_bytes);
  return {ranks, in_lines(header + header / 4 + room_for_others), mail_bytes, slots};
}

std::uint64_t OfferPage::slot_bytes_of(const Shape& shape) noexcept {
  return sizeof(Slot) + std::uint64_t{shape.ranks} * sizeof(Box) + shape.root_mail_bytes +
         std::uint64_t{shape.mail_bytes} * (shape.ranks - 1);
}

std::uint64_t OfferPage::bytes_of(const Shape& shape) noexcept {
  return sizeof(Head) + in_lines(shape.slots * sizeof(std::uint64_t)) + shape.slots * slot_bytes_of(shape);
}

OfferPage OfferPage::begin(std::span<std::byte> memory, const Shape& shape) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  auto& head = *reinterpret_cast<Head*>(memory.data());
  head.ranks = shape.ranks;
  head.root_mail_bytes = shape.root_mail_bytes;
  head.mail_bytes = shape.mail_bytes;
  head.slots = shape.slots;
  return OfferPage(memory);
}

OfferPage::OfferPage(std::span<std::byte> memory) : memory_(memory) {
  if (memory.size() >= sizeof(Head)) {
    const auto& head = *reinterpret_cast<const Head*>(memory.data());
    shape_ = {head.ranks, head.root_mail_bytes, head.mail_bytes, head.slots};
  }
  const bool is_whole = shape_.ranks > 0 && shape_.ranks < counts && shape_.slots <= most_slots &&
                        shape_.root_mail_bytes % line_bytes == 0 && shape_.mail_bytes % line_bytes == 0 &&
                        bytes_of(shape_) <= memory.size();
  if (!is_whole)
    throw Error(NC_EIO, "a page of offers of " + std::to_string(memory.size()) + " bytes is damaged");
}

std::atomic<std::uint64_t>& OfferPage::word_of_slot(std::uint32_t slot) const noexcept {
  std::byte* const words = memory_.data() + sizeof(Head);
  return *std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(words + slot * sizeof(std::uint64_t)));
}

std::byte* OfferPage::slot_at(std::uint32_t slot) const noexcept {
  return memory_.data() + sizeof(Head) + in_lines(shape_.slots * sizeof(std::uint64_t)) +
         slot * slot_bytes_of(shape_);
}

OfferPage::Slot& OfferPage::slot_of(std::uint32_t slot) const noexcept {
  return *std::launder(reinterpret_cast<Slot*>(slot_at(slot)));
}

OfferPage::Box& OfferPage::box_of(std::uint32_t slot, std::uint32_t rank) const noexcept {
  std::size_t before = sizeof(Slot) + rank * sizeof(Box);
  if (rank > 0) before += shape_.root_mail_bytes + std::size_t{rank - 1} * shape_.mail_bytes;
  return *std::launder(reinterpret_cast<Box*>(slot_at(slot) + before));
}

std::span<std::byte> OfferPage::mail_of(std::uint32_t slot, std::uint32_t rank) const noexcept {
  return {reinterpret_cast<std::byte*>(&box_of(slot, rank)) + sizeof(Box), mailbox_bytes(rank)};
}

OfferPage::Bell& OfferPage::bell() const noexcept {
  return std::launder(reinterpret_cast<Head*>(memory_.data()))->bell;
}

std::uint32_t OfferPage::offered() const noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t slot = 0; slot < slots(); ++slot) count += look(slot).state == State::offered ? 1 : 0;
  return count;
}

/// The number is read first: it is of the step only while the step is there.
bool OfferPage::is_complete(std::uint32_t slot, std::uint64_t step) const noexcept {
  return slot_of(slot).left.load(std::memory_order_acquire) == step * counts + shape_.ranks &&
         look(slot) == Seen{State::taken, step};
}

OfferPage::Seen OfferPage::look(std::uint32_t slot) const noexcept {
  const std::uint64_t word = word_of_slot(slot).load(std::memory_order_acquire);
  return {static_cast<State>(word % states), word / states};
}

void OfferPage::offer(std::uint32_t slot, const OfferedSegments& offer) const noexcept {
  Slot& at = slot_of(slot);
  std::atomic_thread_fence(
      std::memory_order_release);  // whoever copies what follows sees that the old offer has gone
  at.left.store(offer.step * counts, std::memory_order_relaxed);
  at.control.store(offer.control, std::memory_order_relaxed);
  for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
    Box& box = box_of(slot, rank);
    box.table.store(offer.logs[rank].table, std::memory_order_relaxed);
    box.data.store(offer.logs[rank].data, std::memory_order_relaxed);
    box.bytes.store(0, std::memory_order_relaxed);
  }
  word_of_slot(slot).store(word_of(offer.step, State::offered), std::memory_order_release);
}

bool OfferPage::withdraw(std::uint32_t slot, std::uint64_t step) const noexcept {
  std::uint64_t seen = word_of(step, State::offered);
  return word_of_slot(slot).compare_exchange_strong(seen, word_of(step, State::empty),
                                                    std::memory_order_acq_rel);
}

void OfferPage::clear(std::uint32_t slot) const noexcept {
  word_of_slot(slot).store(word_of(look(slot).step, State::empty), std::memory_order_release);
}

std::size_t OfferPage::mail_bytes(std::uint32_t slot, std::uint32_t rank) const noexcept {
  const std::uint64_t bytes = box_of(slot, rank).bytes.load(std::memory_order_acquire);
  return static_cast<std::size_t>(std::min<std::uint64_t>(bytes, mailbox_bytes(rank)));
}

std::vector<OfferPage::Letter> OfferPage::letters(std::uint32_t slot, std::uint32_t rank, std::size_t begin,
                                                  std::size_t end, std::uint64_t until) const {
  const auto mail = mail_of(slot, rank);
  std::vector<Letter> found;
  for (std::size_t at = begin; at < end;) {
    LetterHead head;
    if (sizeof head > end - at) throw Error(NC_EIO, "damaged mail: a letter without a beginning");
    std::memcpy(&head, mail.data() + at, sizeof head);
    if (letter_bytes(head.length) > end - at)
      throw Error(NC_EIO, "damaged mail: a letter of " + std::to_string(head.length) + " bytes");
    if (head.time > until) break;
    const auto* const fields = mail.data() + at + sizeof head;
    at += letter_bytes(head.length);
    found.push_back({static_cast<MessageType>(head.type), {fields, fields + head.length}, head.time, at});
  }
  return found;
}

std::optional<std::uint32_t> OfferPage::first_offered() const noexcept {
  std::optional<std::uint32_t> first;
  std::uint64_t lowest = 0;
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    const Seen seen = look(slot);
    if (seen.state != State::offered || (first && seen.step > lowest)) continue;
    first = slot;
    lowest = seen.step;
  }
  return first;
}

OfferPage::Found OfferPage::copy(std::uint32_t slot, std::uint64_t step, std::uint32_t rank) const noexcept {
  const Box& box = box_of(slot, rank);
  const Found found{slot,
                    step,
                    slot_of(slot).control.load(std::memory_order_relaxed),
                    {box.table.load(std::memory_order_relaxed), box.data.load(std::memory_order_relaxed)}};
  std::atomic_thread_fence(std::memory_order_acquire);
  return found;
}

std::optional<OfferPage::Found> OfferPage::find(std::uint32_t rank) const noexcept {
  const auto slot = first_offered();
  if (!slot || rank >= shape_.ranks) return std::nullopt;
  const Seen seen = look(*slot);
  if (seen.state != State::offered) return std::nullopt;
  const Found found = copy(*slot, seen.step, rank);
  if (look(*slot) != seen) return std::nullopt;
  return found;
}

/// Returns the end of the letter; 0: there is no room.
std::size_t OfferPage::append(std::uint32_t slot, std::uint32_t rank, std::size_t at, MessageType type,
                              std::span<const std::byte> fields, std::uint64_t time) const noexcept {
  const auto mail = mail_of(slot, rank);
  if (fields.size() > mail.size() || at > mail.size() || letter_bytes(fields.size()) > mail.size() - at)
    return 0;
  const LetterHead head{static_cast<std::uint32_t>(fields.size()), static_cast<std::uint16_t>(type), 0, time};
  std::memcpy(mail.data() + at, &head, sizeof head);
  if (!fields.empty()) std::memcpy(mail.data() + at + sizeof head, fields.data(), fields.size());
  return at + letter_bytes(fields.size());
}

bool OfferPage::write_first(std::uint32_t slot, MessageType type, std::span<const std::byte> fields,
                            std::uint64_t time) const noexcept {
  const std::size_t end = append(slot, 0, 0, type, fields, time);
  if (end == 0) return false;
  box_of(slot, 0).bytes.store(end, std::memory_order_relaxed);
  return true;
}

bool OfferPage::try_take(std::uint32_t slot, std::uint64_t step) const noexcept {
  std::uint64_t seen = word_of(step, State::offered);
  return word_of_slot(slot).compare_exchange_strong(seen, word_of(step, State::taken),
                                                    std::memory_order_acq_rel);
}

bool OfferPage::post(std::uint32_t slot, std::uint32_t rank, MessageType type,
                     std::span<const std::byte> fields, std::uint64_t time) const noexcept {
  Box& box = box_of(slot, rank);
  const std::size_t end = append(
      slot, rank, static_cast<std::size_t>(box.bytes.load(std::memory_order_relaxed)), type, fields, time);
  if (end == 0) return false;
  box.bytes.store(end, std::memory_order_release);
  return true;
}

bool OfferPage::leave(std::uint32_t slot, std::uint64_t step) const noexcept {
  std::atomic<std::uint64_t>& left = slot_of(slot).left;
  std::uint64_t seen = left.load(std::memory_order_acquire);
  do {
    if (seen / counts != step) return false;
  } while (!left.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel));
  return seen % counts + 1 == shape_.ranks;
}

}  // namespace sluice::runtime
