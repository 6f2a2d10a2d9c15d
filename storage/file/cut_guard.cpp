#include "sluice/storage/cut_guard.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <mutex>

#include "sluice/formats/error.hpp"

namespace sluice::storage {

namespace {

/// A range that the handler finds without a lock: `begin` is set last, and cleared first. Never freed,
/// because the handler may be reading it; used again.
struct Guarded {
  std::atomic<std::uintptr_t> begin{0};  ///< 0: none
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> is_cut{false};
  Guarded* next = nullptr;
};

// A signal handler has nothing else to find its data by.
std::atomic<Guarded*> first_range{nullptr};
std::mutex ranges_lock;  // of those who guard and unguard
std::atomic<std::uint64_t> all_cuts{0};
struct sigaction handler_before = {};

template <class Found>
Guarded* find(const Found& is_it) noexcept {
  Guarded* range = first_range.load();
  while (range != nullptr && !is_it(*range)) range = range->next;
  return range;
}

Guarded* range_of(std::uintptr_t address) noexcept {
  return find([&](const Guarded& range) {
    const std::uintptr_t begin = range.begin.load();
    return begin != 0 && address >= begin && address < range.end.load();
  });
}

/// What follows in the memory is behind the end of the file, too.
bool replace_rest(Guarded& range, std::uintptr_t address) noexcept {
  constexpr std::uintptr_t page = 4096;
  const std::uintptr_t from = address / page * page;
  constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  void* const begin = reinterpret_cast<void*>(from);
  if (::mmap(begin, range.end.load() - from, PROT_READ | PROT_WRITE, kind, -1, 0) == MAP_FAILED) return false;
  range.is_cut = true;
  ++all_cuts;
  return true;
}

/// A fault repeats itself when the handler returns, and ends the process then.
void pass_on(int number, siginfo_t* facts, void* context) noexcept {
  const struct sigaction& before = handler_before;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, facts, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  const bool is_sent = facts->si_code <= 0;
  if (is_sent && before.sa_handler == SIG_IGN) return;
  (void)::signal(number, SIG_DFL);
  if (is_sent) (void)::raise(number);
}

void take_fault(int number, siginfo_t* facts, void* context) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(facts->si_addr);
  Guarded* const range = facts->si_code > 0 ? range_of(address) : nullptr;
  if (range == nullptr || !replace_rest(*range, address)) pass_on(number, facts, context);
}

/// Under the lock.
Guarded& free_range() {
  Guarded* const free = find([](const Guarded& range) { return range.begin.load() == 0; });
  if (free != nullptr) return *free;
  auto* const made = new Guarded;  // owned by the list
  made->next = first_range.load();
  first_range = made;
  return *made;
}

bool set_handler() noexcept {
  struct sigaction ours = {};
  ours.sa_sigaction = take_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  return ::sigaction(SIGBUS, &ours, &handler_before) == 0;
}

}  // namespace

void guard_from_cuts(std::span<std::byte> memory) {
  if (memory.empty()) return;
  static const bool is_set = set_handler();
  if (!is_set) return;
  const std::lock_guard lock(ranges_lock);
  Guarded& range = free_range();
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  range.is_cut = false;
  range.end = begin + memory.size();
  range.begin = begin;
}

void unguard(std::span<std::byte> memory) noexcept {
  if (memory.empty()) return;
  const std::lock_guard lock(ranges_lock);
  Guarded* const range = range_of(reinterpret_cast<std::uintptr_t>(memory.data()));
  if (range != nullptr) range->begin = 0;
}

bool is_cut(const std::byte* byte) noexcept {
  if (all_cuts == 0) return false;
  const Guarded* const range = range_of(reinterpret_cast<std::uintptr_t>(byte));
  return range != nullptr && range->is_cut;
}

std::uint64_t cuts() noexcept {
  return all_cuts;
}

void expect_no_cut(std::uint64_t before) {
  if (cuts() == before) return;
  throw Error(
      NC_EIO,
      "a log or a file of spilled data was cut by another program, or its disk cannot be read. See what "
      "changes files in the directory of the logs (staging.spill, nc_burst_buf_dirname)");
}

}  // namespace sluice::storage
