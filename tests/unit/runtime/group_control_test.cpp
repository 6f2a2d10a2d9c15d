#include "sluice/runtime/group_control.hpp"

#include <doctest/doctest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "sluice/formats/error.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

std::shared_ptr<const Mapping> block(std::uint32_t size) {
  const std::uint64_t bytes = control_block_bytes(size);
  return std::make_shared<Mapping>(create_segment(bytes), SegmentExtent{bytes}, Mapping::Access::read_write);
}

bool always() {
  return true;
}

}  // namespace

TEST_CASE("the agreed record count is the largest of all processes' after their collective calls") {
  constexpr std::uint32_t size = 4;
  const auto shared = block(size);
  std::vector<std::thread> processes;
  std::vector<int> wrong(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    processes.emplace_back([&, rank] {
      GroupControl control(shared, rank, size, always);
      for (std::int64_t call = 0; call < 200; ++call) {
        // Another process has the most records in each call.
        control.raise_record_count(call % size == rank ? 10 * call : call);
        control.enter_collective_call();
        control.wait_for_others();
        wrong[rank] += control.record_count() != 10 * call ? 1 : 0;
      }
    });
  }
  for (auto& process : processes) process.join();
  CHECK(wrong == std::vector<int>(size));
}

TEST_CASE("a process that runs ahead does not change what the others agreed on in an earlier call") {
  const auto shared = block(2);
  constexpr std::int64_t calls =
      1000;  // many times the history: the fast process has to wait for the slow one
  std::thread fast([&] {
    GroupControl control(shared, 0, 2, always);
    for (std::int64_t call = 1; call <= calls; ++call) {
      control.raise_record_count(call);
      control.enter_collective_call();
    }
  });
  GroupControl slow(shared, 1, 2, always);
  int wrong = 0;
  for (std::int64_t call = 1; call <= calls; ++call) {
    slow.enter_collective_call();
    slow.wait_for_others();
    wrong += slow.record_count() != call ? 1 : 0;
  }
  fast.join();
  CHECK(wrong == 0);
}

TEST_CASE("a record count never falls, and a single process never waits") {
  GroupControl control(block(1), 0, 1, always);
  control.raise_record_count(5);
  control.raise_record_count(3);
  control.enter_collective_call();
  control.wait_for_others();
  CHECK(control.record_count() == 5);
}

TEST_CASE("a wait for a dead process, or without a matcher, gets an error") {
  const auto shared = block(2);
  GroupControl control(shared, 0, 2, always);
  control.enter_collective_call();
  reinterpret_cast<ControlSlot*>(shared->writable().data())[1].is_gone = 1;
  CHECK_THROWS_AS(control.wait_for_others(), Error);
  const auto other = block(2);
  GroupControl orphan(other, 0, 2, [] { return false; });
  orphan.enter_collective_call();
  CHECK_THROWS_AS(orphan.wait_for_others(), Error);
}

TEST_CASE("no process waits for one that has closed") {
  const auto shared = block(2);
  GroupControl first(shared, 0, 2, always), second(shared, 1, 2, always);
  second.leave();
  first.enter_collective_call();
  first.enter_collective_call();
  first.wait_for_others();
}

TEST_CASE("a block that is too small for the group is an error") {
  CHECK_THROWS_AS(GroupControl(block(2), 2, 3, always), Error);
  CHECK_THROWS_AS(GroupControl(block(2), 2, 2, always), Error);
}

TEST_CASE("all processes give the same time to a collective call, and later calls have later times") {
  constexpr std::uint32_t size = 3;
  constexpr std::uint64_t calls = 3 * call_history;  // the fast processes have to wait for the slow one
  const auto shared = block(size);
  std::atomic<std::uint64_t> clock{0};
  std::vector<std::vector<std::uint64_t>> times(size);
  std::vector<std::thread> processes;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    processes.emplace_back([&, rank] {
      GroupControl control(shared, rank, size, always);
      for (std::uint64_t call = 0; call < calls; ++call) {
        times[rank].push_back(control.time_of_next_call(++clock));
        control.enter_collective_call();
        if (rank == 2 && call % 100 == 0) std::this_thread::yield();
      }
    });
  }
  for (auto& process : processes) process.join();
  CHECK(times[0] == times[1]);
  CHECK(times[0] == times[2]);
  CHECK(std::ranges::adjacent_find(times[0], std::greater_equal<>{}) == times[0].end());
}

namespace {

extern "C" void stay_away(int) {
  const timespec pause{0, 2000000};
  ::nanosleep(&pause, nullptr);
}

}  // namespace

TEST_CASE("a process that is stopped while it sets the time of a call leaves the others one time") {
  constexpr std::uint32_t size = 2;
  constexpr int stops = 300;
  const auto shared = block(size);
  struct sigaction away {};
  away.sa_handler = stay_away;
  struct sigaction before {};
  REQUIRE(::sigaction(SIGUSR1, &away, &before) == 0);
  std::atomic<bool> is_over = false;
  std::atomic<std::uint64_t> last_call = 0;  // the last call of all processes; 0: not known yet
  std::vector<std::vector<std::uint64_t>> times(size);
  std::vector<std::thread> processes;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    processes.emplace_back([&, rank] {
      GroupControl control(shared, rank, size, always);
      for (std::uint64_t call = 1; last_call == 0 || call <= last_call; ++call) {
        // Each process has its own clock.
        times[rank].push_back(control.time_of_next_call(call * size + rank));
        control.enter_collective_call();
        if (rank == 0 && is_over && last_call == 0) last_call = call + 2 * call_history;
      }
    });
  }
  for (int i = 0; i < stops; ++i) {
    ::pthread_kill(processes[static_cast<std::size_t>(i) % size].native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(2500));  // any moment will do
  }
  is_over = true;
  for (auto& process : processes) process.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < std::min(times[0].size(), times[1].size()); ++i)
    wrong += times[0][i] != times[1][i] ? 1 : 0;
  CHECK(wrong == 0);
  CHECK(times[0].size() == times[1].size());
}

TEST_CASE("calls whose times are not used lie between calls with times") {
  constexpr std::uint32_t size = 2;
  const auto shared = block(size);
  GroupControl first(shared, 0, size, always), second(shared, 1, size, always);
  std::uint64_t clock = 0;
  int wrong = 0;
  for (std::uint64_t call = 0; call < 5 * call_history; ++call) {
    clock += 2;
    if (call % 3 == 0) {
      const std::uint64_t time = first.time_of_next_call(clock);
      wrong += time != clock || second.time_of_next_call(clock + 1) != clock ? 1 : 0;
    }
    first.enter_collective_call();
    second.enter_collective_call();
  }
  CHECK(wrong == 0);
}
