#include "sluice/files/process_memory.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace sluice::files {

namespace {

/// fork(2) makes it the child's, and vfork(2) tells nobody. Zero in a child that was made without the C
/// library, which has a memory of its own. Null: there are no rules.
constinit std::atomic<pid_t>* memory_owner = nullptr;

}  // namespace

void note_process_memory() noexcept {
  constexpr std::size_t bytes = 4096;
  void* const page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (::madvise(page, bytes, MADV_WIPEONFORK) != 0) {
    (void)::munmap(page, bytes);
    return;
  }
  memory_owner = static_cast<std::atomic<pid_t>*>(page);
  *memory_owner = ::getpid();
  (void)::pthread_atfork(nullptr, nullptr, [] { *memory_owner = ::getpid(); });
}

bool is_in_memory_of_parent() noexcept {
  if (memory_owner == nullptr) return false;
  const pid_t self = ::getpid();
  pid_t process = 0;
  return !memory_owner->compare_exchange_strong(process, self) && process != self;
}

}  // namespace sluice::files
