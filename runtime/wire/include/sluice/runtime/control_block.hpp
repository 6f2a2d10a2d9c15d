#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice::runtime {

/// From collective call `collective_call` on, a process knows of `record_count` records.
struct RecordGrowth {
  std::atomic<std::uint64_t> collective_call;
  std::atomic<std::int64_t> record_count;
};

/// The number of growths that a slot remembers.
inline constexpr std::uint64_t growth_history = 60;

/// The control block is shared by the processes of one group that write one step. It has one slot per rank,
/// in a segment of `control` use. A collective put does no MPI: it raises `collective_calls` of the process's
/// own slot.
/// A process that needs the agreed number of records waits until every slot has made as many collective calls
/// as itself. All processes must make these calls, because the calls are collective. The agreed number is the
/// maximum of the numbers that each process knew in that very call. Some processes may be calls ahead, and
/// records that they have added since do not count yet. The history exists for this reason. A process waits
/// before it overwrites an entry that another process may still need. Growth `i` is at growths[i %
/// growth_history].
/// The matcher sets `is_gone` when the slot's process ended without having published. A process that waits
/// for this slot then gives up with an error.
struct alignas(64) ControlSlot {
  std::atomic<std::uint64_t> collective_calls;
  std::atomic<std::uint64_t> growth_count;
  std::atomic<std::uint32_t> is_gone;
  /// Used in slot 0 only, and set by the matcher: a get waits for puts of this group (publish: write). The
  /// next process that puts clears the flag and notifies the matcher.
  std::atomic<std::uint32_t> is_awaited;
  alignas(64) RecordGrowth growths[growth_history];
};
static_assert(sizeof(ControlSlot) == 1024);

/// The time of a collective put. All processes of the group give this time to their requests of that put, so
/// a later collective put wins over an earlier one, even if a process is behind. The first process that asks
/// sets the time. The time is a single word, so no process sees a half-written time, even if the setter
/// stops.
struct CallTime {
  /// Nanoseconds in bits 0-62, and the round in bit 63: times of one round have the bit, times of the next
  /// round do not. The first round has the bit, because a new block is zero and so belongs to no round.
  std::atomic<std::uint64_t> word;
};
inline constexpr std::uint64_t call_time_round = 1ULL << 63;

/// The number of times that are remembered. Collective puts are counted from 0. The time of put n is at
/// call_times[n % call_history], in round n / call_history. A process waits before it overwrites an entry
/// that another process may still need.
inline constexpr std::uint64_t call_history = 2048;

/// Bytes of a control block of `size` ranks: the slots, then the times of calls. A rank that is alone agrees
/// with nobody on times.
[[nodiscard]] constexpr std::size_t control_block_bytes(std::uint32_t size) noexcept {
  return sizeof(ControlSlot) * size + (size > 1 ? sizeof(CallTime) * call_history : 0);
}

}  // namespace sluice::runtime
