#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice::runtime {

/// Shared by the processes of one group that write one step: one slot per rank, in a segment of `control` use.
/// A collective put does no MPI: it raises the own slot's `collective_calls`. Who must know the agreed number of records in collective mode waits until every
/// slot has made as many collective calls as itself (they all must, the call being collective) and takes the maximum.
/// The matcher sets `is_gone` when the slot's process ended without having published: who waits for it gives up with an error.
struct alignas(64) ControlSlot {
  std::atomic<std::uint64_t> collective_calls;
  std::atomic<std::int64_t> record_count;
  std::atomic<std::uint32_t> is_gone;
};
static_assert(sizeof(ControlSlot) == 64);

/// Bytes of a control block of `size` ranks.
[[nodiscard]] constexpr std::size_t control_block_bytes(std::uint32_t size) noexcept { return sizeof(ControlSlot) * size; }

}  // namespace sluice::runtime
