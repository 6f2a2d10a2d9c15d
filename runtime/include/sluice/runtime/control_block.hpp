#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice::runtime {

/// From its collective call `collective_call` on, a process knows of `record_count` records.
struct RecordGrowth {
  std::atomic<std::uint64_t> collective_call;
  std::atomic<std::int64_t> record_count;
};

/// How many growths a slot remembers.
inline constexpr std::uint64_t growth_history = 60;

/// Shared by the processes of one group that write one step: one slot per rank, in a segment of `control`
/// use. A collective put does no MPI: it raises the own slot's `collective_calls`. Who must know the agreed
/// number of records waits until every slot has made as many collective calls as itself (they all must, the
/// call being collective) and takes the maximum of what each knew in that very call: some processes may be
/// calls ahead, and what they have added since is not yet this process's concern. Hence the history; a
/// process waits before it overwrites an entry that another may still need. Growth `i` is at growths[i %
/// growth_history]. The matcher sets `is_gone` when the slot's process ended without having published: who
/// waits for it gives up with an error.
struct alignas(64) ControlSlot {
  std::atomic<std::uint64_t> collective_calls;
  std::atomic<std::uint64_t> growth_count;
  std::atomic<std::uint32_t> is_gone;
  /// Of slot 0, set by the matcher: a get waits for puts of this group (publish: write). Who puts next takes
  /// it back and tells the matcher.
  std::atomic<std::uint32_t> is_awaited;
  alignas(64) RecordGrowth growths[growth_history];
};
static_assert(sizeof(ControlSlot) == 1024);

/// When the first process of the group entered a collective put: the time that all processes give to their
/// requests of that call. So a later collective put wins over an earlier one, whichever process is behind.
/// `call`: the number of the call, with call_is_being_set while its time is not there yet.
struct CallTime {
  std::atomic<std::uint64_t> call;
  std::atomic<std::uint64_t> nanoseconds;
};
inline constexpr std::uint64_t call_is_being_set = 1ULL << 63;

/// How many calls are remembered; call n is at call_times[n % call_history]. A process waits before it
/// overwrites an entry that another may still need.
inline constexpr std::uint64_t call_history = 1024;

/// Bytes of a control block of `size` ranks: the slots, and behind them the times of calls.
[[nodiscard]] constexpr std::size_t control_block_bytes(std::uint32_t size) noexcept {
  return sizeof(ControlSlot) * size + sizeof(CallTime) * call_history;
}

}  // namespace sluice::runtime
