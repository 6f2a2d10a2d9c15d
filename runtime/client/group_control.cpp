#include "sluice/runtime/group_control.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {
constexpr int yields = 200;  // the others are mostly a moment behind
constexpr std::chrono::microseconds shortest_sleep{20};
constexpr std::chrono::microseconds longest_sleep{2000};
constexpr std::chrono::milliseconds check_interval{100};
constexpr std::uint64_t has_left = std::numeric_limits<std::uint64_t>::max();
}  // namespace

GroupControl::GroupControl(std::shared_ptr<const Mapping> block, std::uint32_t rank, std::uint32_t size,
                           std::function<bool()> is_alive, TellOfWait tell_of_wait)
    : block_(std::move(block)), is_alive_(std::move(is_alive)), tell_of_wait_(std::move(tell_of_wait)) {
  const auto memory = block_->writable();
  if (memory.size() < control_block_bytes(size) || rank >= size) {
    throw Error(NC_EIO, "a control block of " + std::to_string(memory.size()) +
                            " bytes is too small for rank " + std::to_string(rank) + " of " +
                            std::to_string(size));
  }
  // The matcher has zeroed the block: zero is the initial state of a slot. The slots' atomics are lock-free,
  // so they work between processes.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  slots_ = {reinterpret_cast<ControlSlot*>(memory.data()), size};
  if (size > 1) call_times_ = {reinterpret_cast<CallTime*>(slots_.data() + size), call_history};
  own_ = &slots_[rank];
}

void GroupControl::raise_record_count(std::int64_t records) {
  if (records <= own_record_count_) return;
  // Only the slot's own process writes it.
  const std::uint64_t index = own_->growth_count.load(std::memory_order_relaxed);
  if (index >= growth_history) {
    // Processes that have not reached the call of the next entry still need the entry that is overwritten.
    const RecordGrowth& next = own_->growths[(index + 1) % growth_history];
    wait_for_all(next.collective_call.load(std::memory_order_relaxed));
  }
  RecordGrowth& growth = own_->growths[index % growth_history];
  growth.collective_call.store(calls_ + 1, std::memory_order_relaxed);
  growth.record_count.store(records, std::memory_order_relaxed);
  own_->growth_count.store(index + 1, std::memory_order_release);
  own_record_count_ = records;
}

void GroupControl::enter_collective_call() noexcept {
  own_->collective_calls.store(++calls_, std::memory_order_release);
}

std::uint64_t GroupControl::time_of_next_call(std::uint64_t now) {
  if (slots_.size() == 1) return now;
  const std::uint64_t call = calls_ + 1;
  if (call > call_history && calls_reached_by_all_ < call - call_history) {
    wait_for_all(call - call_history);
    calls_reached_by_all_ = fewest_calls();
  }
  const std::uint64_t put = timed_calls_++;
  const std::uint64_t round = put / call_history % 2 == 0 ? call_time_round : 0;
  std::atomic<std::uint64_t>& time = call_times_[put % call_history].word;
  std::uint64_t seen = time.load(std::memory_order_acquire);
  const bool is_set = (seen & call_time_round) == round;
  // If another process has set it first, `seen` has its value.
  if (!is_set && time.compare_exchange_strong(seen, now | round, std::memory_order_acq_rel)) return now;
  return seen & ~call_time_round;
}

std::uint64_t GroupControl::fewest_calls() const noexcept {
  std::uint64_t fewest = calls_;
  for (const ControlSlot& slot : slots_)
    fewest = std::min(fewest, slot.collective_calls.load(std::memory_order_acquire));
  return fewest;
}

void GroupControl::wait_for_others() {
  if (calls_reached_by_all_ == calls_) return;
  wait_for_all(calls_);
  calls_reached_by_all_ = calls_;
}

void GroupControl::wait_for_all(std::uint64_t calls) {
  for (std::uint32_t rank = 0; rank < slots_.size(); ++rank)
    if (&slots_[rank] != own_) wait_for(slots_[rank], rank, calls);
}

void GroupControl::wait_for(const ControlSlot& slot, std::uint32_t rank, std::uint64_t calls) {
  const auto is_reached = [&] { return slot.collective_calls.load(std::memory_order_acquire) >= calls; };
  for (int i = 0; i < yields; ++i) {
    if (is_reached()) return;
    ::sched_yield();
  }
  auto sleep = shortest_sleep;
  const auto begin = std::chrono::steady_clock::now();
  auto next_check = begin + check_interval;
  std::unique_ptr<Session::GatheringNotice> told;
  while (!is_reached()) {
    if (slot.is_gone.load(std::memory_order_acquire) != 0) {
      throw Error(NC_EIO, "the process of rank " + std::to_string(rank) +
                              ", which takes part in this collective call, has ended; its output says why");
    }
    if (std::chrono::steady_clock::now() >= next_check) {
      if (!is_alive_()) throw Error(NC_EIO, "the matcher is gone; the log of the run says why");
      next_check = std::chrono::steady_clock::now() + check_interval;
      const bool has_lasted = next_check - begin >= Session::time_until_told;
      if (has_lasted && told == nullptr && tell_of_wait_) told = tell_of_wait_();
    }
    std::this_thread::sleep_for(sleep);
    sleep = std::min(sleep * 2, longest_sleep);
  }
}

namespace {

/// The record count that the slot's process knew in collective call `calls`.
std::int64_t record_count_at(const ControlSlot& slot, std::uint64_t calls) noexcept {
  const std::uint64_t count = slot.growth_count.load(std::memory_order_acquire);
  const std::uint64_t oldest = count > growth_history ? count - growth_history : 0;
  for (std::uint64_t i = count; i-- > oldest;) {
    const RecordGrowth& growth = slot.growths[i % growth_history];
    if (growth.collective_call.load(std::memory_order_relaxed) <= calls)
      return growth.record_count.load(std::memory_order_relaxed);
  }
  return 0;
}

}  // namespace

std::int64_t GroupControl::record_count() const noexcept {
  std::int64_t records = 0;
  for (const ControlSlot& slot : slots_) records = std::max(records, record_count_at(slot, calls_));
  return records;
}

bool GroupControl::take_awaited() noexcept {
  // The matcher sets the flag, then reads the request tables. This process has committed to its table, then
  // reads the flag. At least one of them sees the other's write.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto& flag = slots_[0].is_awaited;
  return flag.load(std::memory_order_relaxed) != 0 && flag.exchange(0, std::memory_order_acq_rel) != 0;
}

void GroupControl::leave() noexcept {
  own_->collective_calls.store(has_left, std::memory_order_release);
}

}  // namespace sluice::runtime
