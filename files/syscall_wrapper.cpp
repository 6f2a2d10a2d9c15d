// `syscall`, for programs that do not trust the C library to have statx and its like: those with libuv
// (Node.js), and allocators. What concerns a path that a rule may cover goes to this library's own wrapper of
// that call. All else goes to the kernel as before. docs/design/files-by-any-program.md.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sluice/files/changed_parts.hpp"
#include "wrapped_call.hpp"

namespace {

template <class T>
T* pointer(long word) noexcept {
  return reinterpret_cast<T*>(word);  // NOLINT(performance-no-int-to-ptr): that is what system calls take
}

/// The paths of a system call, which may be null.
struct Paths {
  const char* first = nullptr;
  const char* second = nullptr;
};

Paths paths_of(long number, long a, long b, long c, long d) noexcept {
  const auto one = [](long path) { return Paths{pointer<const char>(path), nullptr}; };
  const auto two = [](long from, long to) {
    return Paths{pointer<const char>(from), pointer<const char>(to)};
  };
  switch (number) {
#ifdef SYS_open
    case SYS_open:
    case SYS_creat:
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
    case SYS_readlink:
    case SYS_unlink:
    case SYS_chmod:
    case SYS_mkdir:
    case SYS_mknod:
    case SYS_rmdir:
      return one(a);
    case SYS_symlink:
      return one(b);
    case SYS_rename:
    case SYS_link:
      return two(a, b);
#endif
    case SYS_truncate:
      return one(a);
    case SYS_openat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_readlinkat:
    case SYS_unlinkat:
    case SYS_fchmodat:
    case SYS_utimensat:
    case SYS_mkdirat:
    case SYS_mknodat:
      return one(b);
    case SYS_symlinkat:
      return one(c);
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_renameat2:
    case SYS_linkat:
      return two(b, d);
    default:
      return {};
  }
}

/// The wrapper of a call that paths_of knows.
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
    case SYS_creat:
      return ::creat(pointer<const char>(a), static_cast<mode_t>(b));
    case SYS_unlink:
      return ::unlink(pointer<const char>(a));
    case SYS_mkdir:
      return ::mkdir(pointer<const char>(a), static_cast<mode_t>(b));
    case SYS_mknod:
      return ::mknod(pointer<const char>(a), static_cast<mode_t>(b), static_cast<dev_t>(c));
    case SYS_rmdir:
      return ::rmdir(pointer<const char>(a));
    case SYS_symlink:
      return ::symlink(pointer<const char>(a), pointer<const char>(b));
    case SYS_chmod:
      return ::chmod(pointer<const char>(a), static_cast<mode_t>(b));
    case SYS_rename:
      return ::rename(pointer<const char>(a), pointer<const char>(b));
    case SYS_link:
      return ::link(pointer<const char>(a), pointer<const char>(b));
#endif
    case SYS_truncate:
      return ::truncate(pointer<const char>(a), b);
    case SYS_mkdirat:
      return ::mkdirat(directory, path, static_cast<mode_t>(c));
    case SYS_mknodat:
      return ::mknodat(directory, path, static_cast<mode_t>(c), static_cast<dev_t>(d));
    case SYS_symlinkat:
      return ::symlinkat(pointer<const char>(a), static_cast<int>(b), pointer<const char>(c));
    case SYS_unlinkat:
      return ::unlinkat(directory, path, static_cast<int>(c));
    case SYS_fchmodat:
      return ::fchmodat(directory, path, static_cast<mode_t>(c), 0);
    case SYS_utimensat:
      return ::utimensat(directory, path, pointer<const timespec>(c), static_cast<int>(d));
#ifdef SYS_renameat
    case SYS_renameat:
      return ::renameat(directory, path, static_cast<int>(c), pointer<const char>(d));
#endif
    case SYS_renameat2:
      return ::renameat2(directory, path, static_cast<int>(c), pointer<const char>(d),
                         static_cast<unsigned>(e));
    case SYS_linkat:
      return ::linkat(directory, path, static_cast<int>(c), pointer<const char>(d), static_cast<int>(e));
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

/// By other calls, a file may be changed unseen.
bool changes_no_file(long number) noexcept {
  return number == SYS_futex || number == SYS_gettid || number == SYS_getrandom || number == SYS_membarrier ||
         number == SYS_getcpu;
}

/// The end of the only thread is that of the process.
bool is_only_thread() noexcept {
  constexpr nlink_t of_one_thread = 3;
  struct stat facts {};
  return ::stat("/proc/self/task", &facts) == 0 && facts.st_nlink == of_one_thread;
}

}  // namespace

extern "C" {

// Of the header's declaration only the name: its arguments are variable, and here they are those that a
// system call can have.
SLUICE_EXPORT long sluice_syscall(long number, long a, long b, long c, long d, long e,
                                  long f) __asm__("syscall");

long sluice_syscall(long number, long a, long b, long c, long d, long e, long f) {
  const auto [first, second] = paths_of(number, a, b, c, d);
  if (!sluice::files::is_own_call() && !changes_no_file(number)) sluice::files::lose_track_of_all();
  if (number == SYS_exit_group || (number == SYS_exit && is_only_thread())) sluice::files::end_at_once();
  const auto is_concerned = [](const char* path) {
    return path != nullptr && sluice::files::may_be_coupled(path);
  };
  if (is_concerned(first) || is_concerned(second)) return call_wrapper(number, a, b, c, d, e);
  return SLUICE_REAL(syscall)(number, a, b, c, d, e, f);
}

}  // extern "C"
