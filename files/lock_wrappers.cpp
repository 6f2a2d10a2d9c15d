// The calls of the C library that lock files. The run orders writers and readers, so a reader's lock would
// only make a writer fail: HDF5 locks each file that it opens. docs/design/names-and-places.md.
//
// A signal handler may call fcntl: nothing here allocates or waits.
#include "lock_wrappers.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "sluice/files/changed_parts.hpp"
#include "sluice/files/open_descriptors.hpp"
#include "wrapped_call.hpp"

namespace {

using sluice::files::has_rule_to_read;

/// The files, each as a mark of its numbers; 0: the place is free. Of very many, the newest are known.
constinit std::array<std::atomic<std::uint64_t>, 1024> unlocked{};
constinit std::atomic<std::uint32_t> next_place{0};

/// 0: it is no file.
std::uint64_t mark_of(int descriptor) noexcept {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return 0;
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  const std::uint64_t mark = (facts.st_dev * odd) ^ facts.st_ino;
  return mark == 0 ? 1 : mark;
}

bool is_known(std::uint64_t mark) noexcept {
  for (const auto& known : unlocked) {
    const std::uint64_t here = known.load(std::memory_order_relaxed);
    if (here == mark || here == 0) return here == mark;
  }
  return false;
}

/// Whether the descriptor has a name that a rule may cover: the file system may have given the number of a
/// coupled file that was removed to another one.
bool may_be_coupled_file(int descriptor) noexcept {
  std::array<char, 32> link{};
  std::snprintf(link.data(), link.size(), "/proc/thread-self/fd/%d", descriptor);
  std::array<char, PATH_MAX> path;
  const ssize_t length = ::readlink(link.data(), path.data(), path.size() - 1);
  if (length <= 0) return false;
  path[static_cast<std::size_t>(length)] = '\0';
  return has_rule_to_read(path.data());
}

/// Whether the lock is not to be taken.
bool is_unlocked(int descriptor) noexcept {
  if (sluice::files::is_own_call() || unlocked.front().load(std::memory_order_relaxed) == 0) return false;
  const int before = errno;
  const std::uint64_t mark = mark_of(descriptor);
  const bool is = mark != 0 && is_known(mark) && may_be_coupled_file(descriptor);
  errno = before;
  return is;
}

/// A lock for writing needs a descriptor for writing: the kernel says so.
bool may_lock(int descriptor, bool is_for_writing) noexcept {
  const int flags = is_for_writing ? SLUICE_REAL(fcntl)(descriptor, F_GETFL) : O_RDWR;
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/// Whether the command is done by that: the lock is not taken, and nobody else's is seen.
bool passes_lock(int descriptor, int command, void* argument) noexcept {
  auto* const lock = static_cast<struct flock*>(argument);
  switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return lock != nullptr && is_unlocked(descriptor) && may_lock(descriptor, lock->l_type == F_WRLCK);
    case F_GETLK:
    case F_OFD_GETLK:
      if (lock == nullptr || !is_unlocked(descriptor)) return false;
      lock->l_type = F_UNLCK;
      return true;
    default:
      return false;
  }
}

/// By a duplicate, the file would be changed unseen.
void note_command(int descriptor, int command) noexcept {
  const bool is_other = command == F_DUPFD || command == F_DUPFD_CLOEXEC || command == F_SETFL;
  if (is_other && !sluice::files::is_own_call()) sluice::files::lose_track(descriptor);
}

/// Of lockf(3), which locks for writing.
bool passes_lockf(int descriptor, int command) noexcept {
  if (command < F_ULOCK || command > F_TEST || !is_unlocked(descriptor)) return false;
  return may_lock(descriptor, command == F_LOCK || command == F_TLOCK);
}

/// Files that the program has inherited, such as by a redirection of a shell.
__attribute__((constructor)) void begin() {
  if (std::getenv("SLUICE_SOCKET") == nullptr || std::getenv("SLUICE_RULES") == nullptr) return;
  const sluice::files::Inside inside;
  sluice::files::for_each_descriptor([](int descriptor) {
    if (mark_of(descriptor) != 0 && may_be_coupled_file(descriptor))
      (void)sluice::files::leave_unlocked(descriptor);
  });
}

}  // namespace

namespace sluice::files {

int leave_unlocked(int descriptor) noexcept {
  if (descriptor < 0) return descriptor;
  const int before = errno;
  const std::uint64_t mark = mark_of(descriptor);
  if (mark != 0 && !is_known(mark))
    unlocked[next_place.fetch_add(1) % unlocked.size()].store(mark, std::memory_order_relaxed);
  errno = before;
  return descriptor;
}

}  // namespace sluice::files

extern "C" {

SLUICE_EXPORT int flock(int descriptor, int operation) noexcept {
  return is_unlocked(descriptor) ? 0 : SLUICE_REAL(flock)(descriptor, operation);
}

#define SLUICE_FCNTL(fcntl)                                   \
  SLUICE_EXPORT int fcntl(int descriptor, int command, ...) { \
    va_list arguments;                                        \
    va_start(arguments, command);                             \
    void* const argument = va_arg(arguments, void*);          \
    va_end(arguments);                                        \
    note_command(descriptor, command);                        \
    if (passes_lock(descriptor, command, argument)) return 0; \
    return SLUICE_REAL(fcntl)(descriptor, command, argument); \
  }
SLUICE_FCNTL(fcntl)
SLUICE_FCNTL(fcntl64)

SLUICE_EXPORT int lockf(int descriptor, int command, off_t bytes) {
  return passes_lockf(descriptor, command) ? 0 : SLUICE_REAL(lockf)(descriptor, command, bytes);
}

SLUICE_EXPORT int lockf64(int descriptor, int command, off64_t bytes) {
  return passes_lockf(descriptor, command) ? 0 : SLUICE_REAL(lockf64)(descriptor, command, bytes);
}

}  // extern "C"
