// The calls of the C library that tell the facts of a file, and that set permissions, owner and times of one
// by its name.
// docs/design/written-files.md.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include <array>
#include <cerrno>
#include <utility>

#include "wrapped_call.hpp"
#include "written_file.hpp"

// Of programs that were built with older C libraries.
extern "C" {
int __xstat(int version, const char* path, struct stat* facts);
int __xstat64(int version, const char* path, struct stat64* facts);
int __lxstat(int version, const char* path, struct stat* facts);
int __lxstat64(int version, const char* path, struct stat64* facts);
int __fxstatat(int version, int directory, const char* path, struct stat* facts, int flags);
int __fxstatat64(int version, int directory, const char* path, struct stat64* facts, int flags);
int __fxstat(int version, int descriptor, struct stat* facts);
int __fxstat64(int version, int descriptor, struct stat64* facts);
}

namespace {

using sluice::files::ask_any;
using sluice::files::ask_unfollowed;
using sluice::files::CoupledFile;
using sluice::files::fail;
using sluice::files::Inside;
using sluice::files::ReaderChange;
using sluice::files::undisturbed;
using sluice::files::with_parts;
using sluice::files::WrittenFile;

int facts_of(int descriptor, struct stat* facts) noexcept {
  return SLUICE_REAL(fstat)(descriptor, facts);
}
int facts_of(int descriptor, struct stat64* facts) noexcept {
  return SLUICE_REAL(fstat64)(descriptor, facts);
}

/// A memory file has no name, but the image of a coupled file has those in the run.
template <class Facts>
int stat_image(const CoupledFile& image, Facts* facts) noexcept {
  const int status = facts_of(image.image.number(), facts);
  if (status == 0 && facts->st_nlink == 0) facts->st_nlink = image.names;
  return status;
}

/// The same of a descriptor, which a call may also name by an empty path. `names`: st_nlink of the facts.
template <class Names>
int count_names(int descriptor, int status, mode_t mode, Names& names) noexcept {
  if (status != 0 || names != 0 || !S_ISREG(mode) || !sluice::files::may_list_coupled()) return status;
  const int before = errno;
  const Inside inside;
  names = sluice::files::names_of_open_file(descriptor);
  errno = before;
  return status;
}

template <class Facts>
int count_names(int descriptor, int status, Facts* facts) noexcept {
  return status == 0 ? count_names(descriptor, status, facts->st_mode, facts->st_nlink) : status;
}

bool is_empty(const char* path) noexcept {
  return path != nullptr && *path == '\0';
}

/// `flags`: as of fstatat(2).
template <class OfImage, class OfPath>
int ask_by_flags(int flags, int directory, const char* path, const OfImage& of_image,
                 const OfPath& of_path) noexcept {
  return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? ask_unfollowed(directory, path, of_image, of_path)
                                            : ask_any(directory, path, of_image, of_path);
}

constexpr int thousand = 1000;

timespec time_of(const timeval& time) noexcept {
  return {time.tv_sec, time.tv_usec * thousand};
}

/// `on_file`: for a file of the run that the component writes, with a path that the kernel finds it by.
template <class OnFile, class OnDisk>
int change_it(int directory, const char* path, const OnFile& on_file, const OnDisk& on_disk) noexcept {
  if (!sluice::files::may_be_written(path))
    return sluice::files::change_read(directory, path) == ReaderChange::to_disk
               ? with_parts(directory, path, on_disk())
               : fail(EACCES);
  WrittenFile file = sluice::files::open_written(directory, path, O_RDONLY, 0);
  if (file.kind == WrittenFile::Kind::ordinary) return with_parts(directory, path, on_disk());
  if (file.kind == WrittenFile::Kind::failed) return fail(file.error_number);
  const CoupledFile image{CoupledFile::Kind::image, std::move(file.file)};
  return on_file(sluice::files::ImageLink(image).path());
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

/// By its link: what allows no reading is only named by its descriptor.
template <class OnDisk>
int change_mode(int directory, const char* path, mode_t mode, const OnDisk& on_disk) noexcept {
  return change_any(
      directory, path, [&](const char* file) { return SLUICE_REAL(chmod)(file, mode); }, on_disk);
}

template <class OnDisk>
int change_owner(int directory, const char* path, uid_t owner, gid_t group, const OnDisk& on_disk) noexcept {
  return change_any(
      directory, path, [&](const char* file) { return SLUICE_REAL(chown)(file, owner, group); }, on_disk);
}

/// `times`: of the last access and the last change; null: now.
template <class OnDisk>
int change_times(int directory, const char* path, const timespec* times, const OnDisk& on_disk) noexcept {
  return change_any(
      directory, path, [&](const char* file) { return SLUICE_REAL(utimensat)(AT_FDCWD, file, times, 0); },
      on_disk);
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

#define SLUICE_STAT(stat, structure, ask)                                                   \
  SLUICE_EXPORT int stat(const char* path, struct structure* facts) noexcept {              \
    return ask(                                                                             \
        AT_FDCWD, path, [&](const CoupledFile& image) { return stat_image(image, facts); }, \
        [&](int, const char* other) { return SLUICE_REAL(stat)(other, facts); });           \
  }
SLUICE_STAT(stat, stat, ask_any)
SLUICE_STAT(lstat, stat, ask_unfollowed)
SLUICE_STAT(stat64, stat64, ask_any)
SLUICE_STAT(lstat64, stat64, ask_unfollowed)

#define SLUICE_FSTATAT(fstatat, structure)                                                                  \
  SLUICE_EXPORT int fstatat(int directory, const char* path, struct structure* facts, int flags) noexcept { \
    return ask_by_flags(                                                                                    \
        flags, directory, path, [&](const CoupledFile& image) { return stat_image(image, facts); },         \
        [&](int from, const char* other) {                                                                  \
          const int status = SLUICE_REAL(fstatat)(from, other, facts, flags);                               \
          return is_empty(other) ? count_names(from, status, facts) : status;                               \
        });                                                                                                 \
  }
SLUICE_FSTATAT(fstatat, stat)
SLUICE_FSTATAT(fstatat64, stat64)

#define SLUICE_XSTAT(xstat, structure, ask)                                                 \
  SLUICE_EXPORT int xstat(int version, const char* path, struct structure* facts) {         \
    return ask(                                                                             \
        AT_FDCWD, path, [&](const CoupledFile& image) { return stat_image(image, facts); }, \
        [&](int, const char* other) { return SLUICE_REAL(xstat)(version, other, facts); }); \
  }
SLUICE_XSTAT(__xstat, stat, ask_any)
SLUICE_XSTAT(__lxstat, stat, ask_unfollowed)
SLUICE_XSTAT(__xstat64, stat64, ask_any)
SLUICE_XSTAT(__lxstat64, stat64, ask_unfollowed)

#define SLUICE_FXSTATAT(fxstatat, structure)                                                        \
  SLUICE_EXPORT int fxstatat(int version, int directory, const char* path, struct structure* facts, \
                             int flags) {                                                           \
    return ask_by_flags(                                                                            \
        flags, directory, path, [&](const CoupledFile& image) { return stat_image(image, facts); }, \
        [&](int from, const char* other) {                                                          \
          return SLUICE_REAL(fxstatat)(version, from, other, facts, flags);                         \
        });                                                                                         \
  }
SLUICE_FXSTATAT(__fxstatat, stat)
SLUICE_FXSTATAT(__fxstatat64, stat64)

#define SLUICE_FSTAT(fstat, structure)                                            \
  SLUICE_EXPORT int fstat(int descriptor, struct structure* facts) noexcept {     \
    return count_names(descriptor, SLUICE_REAL(fstat)(descriptor, facts), facts); \
  }
SLUICE_FSTAT(fstat, stat)
SLUICE_FSTAT(fstat64, stat64)

#define SLUICE_FXSTAT(fxstat, structure)                                                    \
  SLUICE_EXPORT int fxstat(int version, int descriptor, struct structure* facts) {          \
    return count_names(descriptor, SLUICE_REAL(fxstat)(version, descriptor, facts), facts); \
  }
SLUICE_FXSTAT(__fxstat, stat)
SLUICE_FXSTAT(__fxstat64, stat64)

SLUICE_EXPORT int statx(int directory, const char* path, int flags, unsigned int mask,
                        struct statx* facts) noexcept {
  return ask_by_flags(
      flags, directory, path,
      [&](const CoupledFile& file) {
        constexpr int of_path = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
        const int status =
            SLUICE_REAL(statx)(file.image.number(), "", (flags & ~of_path) | AT_EMPTY_PATH, mask, facts);
        if (status == 0 && facts->stx_nlink == 0) facts->stx_nlink = file.names;
        return status;
      },
      [&](int from, const char* other) {
        const int status = SLUICE_REAL(statx)(from, other, flags, mask, facts);
        return is_empty(other) && status == 0 ? count_names(from, status, facts->stx_mode, facts->stx_nlink)
                                              : status;
      });
}

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
