#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// The segments of an offered step for one process. 0: none.
struct OfferedLog {
  std::uint64_t table = 0;
  std::uint64_t data = 0;
  bool operator==(const OfferedLog&) const = default;
};

/// A step that the registry offers to a group of writers: docs/design/offers.md.
struct OfferedSegments {
  std::uint64_t step = 0;
  std::uint64_t control = 0;
  std::vector<OfferedLog> logs;  ///< by rank
};

/// A page of shared memory through which the registry offers steps to the processes of one group, and through
/// which these processes tell the registry of them without waking it: docs/design/offers.md. It has slots,
/// each for one step, with a word and a mailbox for each rank. Mail is what would have been a message.
/// Rank 0 takes, the registry does everything else. Step numbers are never used again, so no process takes
/// another offer than the one that it has seen. Mail of a slot counts only while it is taken.
/// This class is a view of the memory. It does no I/O.
class OfferPage {
 public:
  struct Shape {
    std::uint32_t ranks = 0;
    std::uint32_t root_mail_bytes = 0;  ///< of rank 0's mailbox: multiples of 64
    std::uint32_t mail_bytes = 0;       ///< of each other mailbox
    std::uint32_t slots = 8;
  };
  /// The shape for a group whose last header had so many bytes.
  [[nodiscard]] static Shape shape_for(std::uint32_t ranks, std::uint64_t header_bytes,
                                       std::uint32_t slots) noexcept;
  [[nodiscard]] static std::uint64_t bytes_of(const Shape& shape) noexcept;

  /// For the registry's side. The memory is zero: every slot is empty.
  [[nodiscard]] static OfferPage begin(std::span<std::byte> memory, const Shape& shape);
  /// Throws Error(NC_EIO) when the memory is too small for what it says.
  explicit OfferPage(std::span<std::byte> memory);
  [[nodiscard]] std::uint32_t ranks() const noexcept { return shape_.ranks; }
  [[nodiscard]] std::uint32_t slots() const noexcept { return shape_.slots; }

  enum class State : std::uint8_t { empty, offered, taken };
  struct Seen {
    State state = State::empty;
    std::uint64_t step = 0;
    bool operator==(const Seen&) const = default;
  };
  [[nodiscard]] Seen look(std::uint32_t slot) const noexcept;

  /// By which processes wake each other up, and the registry (docs/design/offers.md).
  struct alignas(64) Bell {
    std::atomic<std::uint32_t> rings;     ///< grows with each step that is complete; a futex
    std::atomic<std::uint32_t> sleepers;  ///< readers that wait for a ring
    std::atomic<std::uint32_t> is_quiet;  ///< nobody waits for news: the registry looks for mail now and then
    std::atomic<std::uint32_t> few;       ///< with fewer offers, writers ask for more
    std::atomic<std::uint32_t> is_called;  ///< the registry was told of mail, and has not looked for it yet
  };
  [[nodiscard]] Bell& bell() const noexcept;
  /// How many offers nobody has taken.
  [[nodiscard]] std::uint32_t offered() const noexcept;
  /// All processes of the group have posted their last letters of the step.
  [[nodiscard]] bool is_complete(std::uint32_t slot, std::uint64_t step) const noexcept;

  // The registry's side.
  /// The slot is empty.
  void offer(std::uint32_t slot, const OfferedSegments& offer) const noexcept;
  /// Returns false when rank 0 has taken it.
  [[nodiscard]] bool withdraw(std::uint32_t slot, std::uint64_t step) const noexcept;
  /// All processes of the group have finished with the step, or have ended.
  void clear(std::uint32_t slot) const noexcept;
  /// The bytes in a mailbox of a slot that is taken. Never more than the mailbox has.
  [[nodiscard]] std::size_t mail_bytes(std::uint32_t slot, std::uint32_t rank) const noexcept;
  struct Letter {
    MessageType type{};
    std::vector<std::byte> fields;
    std::uint64_t time = 0;
    std::size_t end = 0;  ///< its place in the mailbox
  };
  /// Copies the letters from `begin` to `end` that are not later than `until`. Throws Error(NC_EIO) when they
  /// are damaged.
  [[nodiscard]] std::vector<Letter> letters(std::uint32_t slot, std::uint32_t rank, std::size_t begin,
                                            std::size_t end, std::uint64_t until) const;

  // The processes' side.
  struct Found {
    std::uint32_t slot = 0;
    std::uint64_t step = 0;
    std::uint64_t control = 0;
    OfferedLog log;
  };
  /// The slot with the lowest step that is offered.
  [[nodiscard]] std::optional<std::uint32_t> first_offered() const noexcept;
  /// What the slot offers to the rank. It means something only if look() gives the same offer before and
  /// after.
  [[nodiscard]] Found copy(std::uint32_t slot, std::uint64_t step, std::uint32_t rank) const noexcept;
  /// The first offer, as a whole.
  [[nodiscard]] std::optional<Found> find(std::uint32_t rank) const noexcept;
  /// Rank 0, one thread at a time: takes the offer, and with it sends the first letter. Returns false when
  /// the letter is too long, or the offer has gone.
  [[nodiscard]] bool take(std::uint32_t slot, std::uint64_t step, MessageType type,
                          std::span<const std::byte> fields, std::uint64_t time) const noexcept {
    return is_offered(slot, step) && write_first(slot, type, fields, time) && try_take(slot, step);
  }
  // The parts of take(). What is not taken yet, only the same thread takes meanwhile. So the letter destroys
  // no mail, even if the offer has gone.
  [[nodiscard]] bool is_offered(std::uint32_t slot, std::uint64_t step) const noexcept {
    return look(slot) == Seen{State::offered, step};
  }
  [[nodiscard]] bool write_first(std::uint32_t slot, MessageType type, std::span<const std::byte> fields,
                                 std::uint64_t time) const noexcept;
  [[nodiscard]] bool try_take(std::uint32_t slot, std::uint64_t step) const noexcept;
  /// A process of the group of a step that was taken, one thread at a time. Returns false when there is no
  /// room.
  [[nodiscard]] bool post(std::uint32_t slot, std::uint32_t rank, MessageType type,
                          std::span<const std::byte> fields, std::uint64_t time) const noexcept;
  /// The process has posted its last letter. Returns true to the last process of the group: nobody has told
  /// the registry yet. Returns false when the registry has found all letters by itself; then the slot may
  /// have the next offer.
  [[nodiscard]] bool leave(std::uint32_t slot, std::uint64_t step) const noexcept;

 private:
  struct Head;
  struct Slot;
  struct Box;
  [[nodiscard]] static std::uint64_t slot_bytes_of(const Shape& shape) noexcept;
  [[nodiscard]] std::atomic<std::uint64_t>& word_of_slot(std::uint32_t slot) const noexcept;
  [[nodiscard]] std::byte* slot_at(std::uint32_t slot) const noexcept;
  [[nodiscard]] Slot& slot_of(std::uint32_t slot) const noexcept;
  [[nodiscard]] Box& box_of(std::uint32_t slot, std::uint32_t rank) const noexcept;
  [[nodiscard]] std::span<std::byte> mail_of(std::uint32_t slot, std::uint32_t rank) const noexcept;
  [[nodiscard]] std::size_t mailbox_bytes(std::uint32_t rank) const noexcept {
    return rank == 0 ? shape_.root_mail_bytes : shape_.mail_bytes;
  }
  [[nodiscard]] std::size_t append(std::uint32_t slot, std::uint32_t rank, std::size_t at, MessageType type,
                                   std::span<const std::byte> fields, std::uint64_t time) const noexcept;

  std::span<std::byte> memory_;
  Shape shape_;
};

}  // namespace sluice::runtime
