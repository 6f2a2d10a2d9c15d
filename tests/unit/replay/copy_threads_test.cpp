#include "sluice/replay/copy_threads.hpp"

#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace sluice::replay;

namespace {

std::ptrdiff_t count_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

}  // namespace

TEST_CASE("a copy has no more threads than it is worth, than are allowed, and than processors are idle") {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  CHECK(threads_for(0, 8, 8) == 1);
  CHECK(threads_for(3 * mebibyte, 8, 8) == 1);
  CHECK(threads_for(4 * mebibyte, 8, 8) == 2);
  CHECK(threads_for(512 * mebibyte, 8, 16) == 8);
  CHECK(threads_for(512 * mebibyte, 8, 2) == 3);
  CHECK(threads_for(512 * mebibyte, 8, 0) == 1);
  CHECK(threads_for(512 * mebibyte, 1, 16) == 1);
}

TEST_CASE("this process does not count as idle") {
  CHECK(count_idle_processors() >= 0);
  CHECK(count_idle_processors() < 100000);
}

TEST_CASE("all parts are done once, and no thread is left") {
  const std::ptrdiff_t before = count_threads();
  std::vector<std::atomic<int>> done(5);
  run_at_once(5, [&](int part) { ++done[static_cast<std::size_t>(part)]; });
  for (const auto& times : done) CHECK(times == 1);
  // A thread that was waited for may still be in the list for a moment.
  while (count_threads() > before) std::this_thread::yield();
}

TEST_CASE("what a part throws arrives, when all parts are done") {
  std::atomic<int> done = 0;
  const auto fail = [&](int part) {
    ++done;
    if (part > 0) throw std::runtime_error("part " + std::to_string(part));
  };
  CHECK_THROWS_WITH(run_at_once(4, fail), "part 1");
  CHECK(done == 4);
}

TEST_CASE("threads leave signals to the program, and its mask as it was") {
  const auto blocks = [](int signal) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, signal) == 1;
  };
  std::atomic<int> blocked = 0;
  std::atomic<int> faults_blocked = 0;
  run_at_once(3, [&](int) {
    blocked += blocks(SIGUSR1) ? 1 : 0;
    faults_blocked += blocks(SIGSEGV) ? 1 : 0;
  });
  CHECK(blocked == 2);  // not in the calling thread
  CHECK(faults_blocked == 0);
  CHECK_FALSE(blocks(SIGUSR1));
}
