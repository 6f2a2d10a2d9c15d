// The calls of the C library that set permissions, owner and times of a file by its name.
// docs/design/written-files.md.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include <array>
#include <cerrno>

#include "wrapped_call.hpp"
#include "written_file.hpp"

namespace {

using sluice::files::fail;
using sluice::files::ReaderChange;
using sluice::files::undisturbed;
using sluice::files::with_parts;
using sluice::files::WrittenFile;

constexpr int thousand = 1000;

timespec time_of(const timeval& time) noexcept {
  return {time.tv_sec, time.tv_usec * thousand};
}

/// `on_file`: for a file of the run that the component writes, with its descriptor.
template <class OnFile, class OnDisk>
int change_it(int directory, const char* path, const OnFile& on_file, const OnDisk& on_disk) noexcept {
  if (!sluice::files::may_be_written(path))
    return sluice::files::change_read(directory, path) == ReaderChange::to_disk
               ? with_parts(directory, path, on_disk())
               : fail(EACCES);
  const WrittenFile file = sluice::files::open_written(directory, path, O_RDONLY, 0);
  if (file.kind == WrittenFile::Kind::ordinary) return with_parts(directory, path, on_disk());
  if (file.kind == WrittenFile::Kind::failed) return fail(file.error_number);
  return on_file(file.file.number());
}

template <class OnFile, class OnDisk>
int change_any(int directory, const char* path, const OnFile& on_file, const OnDisk& on_disk) {
  return undisturbed([&] { return change_it(directory, path, on_file, on_disk); });
}

/// The C library declares that a path is never null, and so the compiler leaves out a comparison within the
/// wrapper. Programs hand over null nevertheless.
bool has_no_name(const char* path) noexcept {
  __asm__("" : "+r"(path));  // it may be anything now
  return path == nullptr || *path == '\0';
}

/// Whether a call is to change a link itself. `flags`: as of fchownat(2).
bool is_of_link(int directory, const char* path, int flags) noexcept {
  return (flags & AT_SYMLINK_NOFOLLOW) != 0 && sluice::files::may_be_coupled(path) &&
         sluice::files::is_link(directory, path);
}

/// The matcher opens the file again for its readers, so its owner can always read and write it.
template <class OnDisk>
int change_mode(int directory, const char* path, mode_t mode, const OnDisk& on_disk) noexcept {
  return change_any(
      directory, path, [&](int file) { return ::fchmod(file, mode | S_IRUSR | S_IWUSR); }, on_disk);
}

template <class OnDisk>
int change_owner(int directory, const char* path, uid_t owner, gid_t group, const OnDisk& on_disk) noexcept {
  return change_any(
      directory, path, [&](int file) { return ::fchown(file, owner, group); }, on_disk);
}

/// `times`: of the last access and the last change; null: now.
template <class OnDisk>
int change_times(int directory, const char* path, const timespec* times, const OnDisk& on_disk) noexcept {
  return change_any(
      directory, path, [&](int file) { return ::futimens(file, times); }, on_disk);
}

/// The same with microseconds.
template <class OnDisk>
int change_times(int directory, const char* path, const timeval* times, const OnDisk& on_disk) noexcept {
  if (times == nullptr) return change_times(directory, path, static_cast<const timespec*>(nullptr), on_disk);
  const std::array<timespec, 2> both{time_of(times[0]), time_of(times[1])};
  return change_times(directory, path, both.data(), on_disk);
}

}  // namespace

extern "C" {

SLUICE_EXPORT int chmod(const char* path, mode_t mode) noexcept {
  return change_mode(AT_FDCWD, path, mode, [&] { return SLUICE_REAL(chmod)(path, mode); });
}

SLUICE_EXPORT int lchmod(const char* path, mode_t mode) noexcept {
  return change_mode(AT_FDCWD, path, mode, [&] { return SLUICE_REAL(lchmod)(path, mode); });
}

SLUICE_EXPORT int fchmodat(int directory, const char* path, mode_t mode, int flags) noexcept {
  return change_mode(directory, path, mode,
                     [&] { return SLUICE_REAL(fchmodat)(directory, path, mode, flags); });
}

SLUICE_EXPORT int chown(const char* path, uid_t owner, gid_t group) noexcept {
  return change_owner(AT_FDCWD, path, owner, group, [&] { return SLUICE_REAL(chown)(path, owner, group); });
}

SLUICE_EXPORT int lchown(const char* path, uid_t owner, gid_t group) noexcept {
  const auto change = [&] { return SLUICE_REAL(lchown)(path, owner, group); };
  if (is_of_link(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW)) return change();
  return change_owner(AT_FDCWD, path, owner, group, change);
}

SLUICE_EXPORT int fchownat(int directory, const char* path, uid_t owner, gid_t group, int flags) noexcept {
  const auto change = [&] { return SLUICE_REAL(fchownat)(directory, path, owner, group, flags); };
  if (has_no_name(path) || is_of_link(directory, path, flags)) return change();
  return change_owner(directory, path, owner, group, change);
}

SLUICE_EXPORT int utime(const char* path, const utimbuf* times) noexcept {
  const auto change = [&] { return SLUICE_REAL(utime)(path, times); };
  if (times == nullptr) return change_times(AT_FDCWD, path, static_cast<const timespec*>(nullptr), change);
  const std::array<timespec, 2> both{timespec{times->actime, 0}, timespec{times->modtime, 0}};
  return change_times(AT_FDCWD, path, both.data(), change);
}

SLUICE_EXPORT int utimes(const char* path, const timeval times[2]) noexcept {
  return change_times(AT_FDCWD, path, times, [&] { return SLUICE_REAL(utimes)(path, times); });
}

SLUICE_EXPORT int lutimes(const char* path, const timeval times[2]) noexcept {
  const auto change = [&] { return SLUICE_REAL(lutimes)(path, times); };
  return is_of_link(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW) ? change()
                                                         : change_times(AT_FDCWD, path, times, change);
}

SLUICE_EXPORT int futimesat(int directory, const char* path, const timeval times[2]) noexcept {
  const auto change = [&] { return SLUICE_REAL(futimesat)(directory, path, times); };
  return has_no_name(path) ? change() : change_times(directory, path, times, change);
}

SLUICE_EXPORT int utimensat(int directory, const char* path, const timespec times[2], int flags) noexcept {
  const auto change = [&] { return SLUICE_REAL(utimensat)(directory, path, times, flags); };
  if (has_no_name(path) || is_of_link(directory, path, flags)) return change();
  return change_times(directory, path, times, change);
}

}  // extern "C"
