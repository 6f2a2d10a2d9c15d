#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "sluice/runtime/control_block.hpp"
#include "sluice/runtime/segment.hpp"
#include "sluice/runtime/session.hpp"

namespace sluice::runtime {

/// One process's view of its group's control block. Through the block, processes that write a step learn of
/// each other's records and collective calls without MPI. One thread at a time.
class GroupControl {
 public:
  /// Tells of a long wait for other processes, until the returned object is destroyed. May return null.
  using TellOfWait = std::function<std::unique_ptr<Session::GatheringNotice>()>;

  /// `block`: a read_write mapping. `is_alive`: whether the matcher still runs; the matcher marks ended
  /// processes. Throws Error(NC_EIO) when the block is too small.
  GroupControl(std::shared_ptr<const Mapping> block, std::uint32_t rank, std::uint32_t size,
               std::function<bool()> is_alive, TellOfWait tell_of_wait = {});

  /// From this process's next collective call on, there are at least `records` records. Sleeps while another
  /// process is so far behind that the history is full. Throws Error(NC_EIO) when that process or the matcher
  /// has ended.
  void raise_record_count(std::int64_t records);
  /// This process takes part in one more collective call. Every process of the group counts the same calls.
  void enter_collective_call() noexcept;
  /// The time of the collective call that this process enters next. The first process that asks sets it to
  /// its own `now`. All processes of the group ask for the times of the same calls, and get the same times.
  /// Later calls have later times. `now` is below 2^63 ns, and later than the times of all calls that this
  /// process has entered. Throws Error(NC_EIO) when a needed process has ended.
  [[nodiscard]] std::uint64_t time_of_next_call(std::uint64_t now);
  /// Sleeps until all processes have made as many collective calls as this one. Throws Error(NC_EIO) when one
  /// of them or the matcher has ended.
  void wait_for_others();
  /// The largest record count that any process knew in this process's last collective call. Exact after
  /// wait_for_others().
  [[nodiscard]] std::int64_t record_count() const noexcept;
  /// Whether the matcher waits for a notice of the puts before this call. Returns true once for each such
  /// wait.
  [[nodiscard]] bool take_awaited() noexcept;
  /// Other processes no longer wait for this one.
  void leave() noexcept;

 private:
  void wait_for_all(std::uint64_t calls);
  [[nodiscard]] std::uint64_t fewest_calls() const noexcept;
  void wait_for(const ControlSlot& slot, std::uint32_t rank, std::uint64_t calls);

  std::shared_ptr<const Mapping> block_;  ///< shared with the cache of segments
  std::span<ControlSlot> slots_;
  std::span<CallTime> call_times_;
  ControlSlot* own_ = nullptr;
  std::function<bool()> is_alive_;
  TellOfWait tell_of_wait_;  ///< may be empty
  std::uint64_t calls_ = 0;
  std::uint64_t timed_calls_ = 0;      ///< calls whose time this process has asked for
  std::int64_t own_record_count_ = 0;  ///< the last entry of the process's own history
  std::uint64_t calls_reached_by_all_ = 0;
};

}  // namespace sluice::runtime
