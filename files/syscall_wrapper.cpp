// `syscall`, for programs that do not trust the C library to have statx and its like: those with libuv
// (Node.js), and allocators. What concerns a path that a rule may cover goes to this library's own wrapper of
// that call. All else goes to the kernel as before. docs/design/files-by-any-program.md.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wrapped_call.hpp"

namespace {

template <class T>
T* pointer(long word) noexcept {
  return reinterpret_cast<T*>(word);  // NOLINT(performance-no-int-to-ptr): that is what system calls take
}

const char* path_of(long number, long first, long second) noexcept {
  switch (number) {
#ifdef SYS_open
    case SYS_open:
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
    case SYS_readlink:
      return pointer<const char>(first);
#endif
    case SYS_openat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_readlinkat:
      return pointer<const char>(second);
    default:
      return nullptr;
  }
}

/// The wrapper of a call that path_of knows.
__attribute__((noinline)) long call_wrapper(long number, long a, long b, long c, long d, long e) {
  const int directory = static_cast<int>(a);
  const char* const path = pointer<const char>(b);
  switch (number) {
#ifdef SYS_open
    case SYS_open:
      return ::open(pointer<const char>(a), static_cast<int>(b), static_cast<mode_t>(c));
    case SYS_stat:
      return ::stat(pointer<const char>(a), pointer<struct stat>(b));
    case SYS_lstat:
      return ::lstat(pointer<const char>(a), pointer<struct stat>(b));
    case SYS_access:
      return ::access(pointer<const char>(a), static_cast<int>(b));
    case SYS_readlink:
      return ::readlink(pointer<const char>(a), pointer<char>(b), static_cast<std::size_t>(c));
#endif
    case SYS_openat:
      return ::openat(directory, path, static_cast<int>(c), static_cast<mode_t>(d));
    case SYS_newfstatat:
      return ::fstatat(directory, path, pointer<struct stat>(c), static_cast<int>(d));
    case SYS_statx:
      return ::statx(directory, path, static_cast<int>(c), static_cast<unsigned>(d),
                     pointer<struct statx>(e));
    case SYS_faccessat:
      return ::faccessat(directory, path, static_cast<int>(c), 0);
    case SYS_faccessat2:
      return ::faccessat(directory, path, static_cast<int>(c), static_cast<int>(d));
    default:
      return ::readlinkat(directory, path, pointer<char>(c), static_cast<std::size_t>(d));
  }
}

}  // namespace

extern "C" {

// Of the header's declaration only the name: its arguments are variable, and here they are those that a
// system call can have.
SLUICE_EXPORT long sluice_syscall(long number, long a, long b, long c, long d, long e,
                                  long f) __asm__("syscall");

long sluice_syscall(long number, long a, long b, long c, long d, long e, long f) {
  const char* const path = path_of(number, a, b);
  if (path != nullptr && sluice::files::may_be_coupled(path)) return call_wrapper(number, a, b, c, d, e);
  return SLUICE_REAL(syscall)(number, a, b, c, d, e, f);
}

}  // extern "C"
