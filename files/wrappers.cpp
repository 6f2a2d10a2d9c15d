// The calls of the C library by which a program finds and opens files. Each of them compares the path with
// the rules first; what no rule may cover goes to the C library at once. docs/design/files-by-any-program.md.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "lock_wrappers.hpp"
#include "open_record.hpp"
#include "read_record.hpp"
#include "sluice/files/coupled_file.hpp"
#include "wrapped_call.hpp"
#include "written_file.hpp"

// Of programs that were built with older C libraries, and of those that were built with checks.
extern "C" {
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int directory, const char* path, int flags);
int __openat64_2(int directory, const char* path, int flags);
}

namespace {

using sluice::files::ask_any;
using sluice::files::ask_unfollowed;
using sluice::files::cancelled_at_points;
using sluice::files::change_read;
using sluice::files::CoupledFile;
using sluice::files::fail;
using sluice::files::Inside;
using sluice::files::leave_unlocked;
using sluice::files::look_for;
using sluice::files::may_be_coupled;
using sluice::files::may_be_written;
using sluice::files::open_written;
using sluice::files::OpenReason;
using sluice::files::ReaderChange;
using sluice::files::stops_at_link;
using sluice::files::undisturbed_point;
using sluice::files::with_parts;
using sluice::files::WrittenFile;

constexpr mode_t all_may = 0666;

/// Neither does the file have to be new, nor does it lose its bytes: the program may only want to read it.
/// The libraries of Fortran open so where the program does not say `action`, and again for reading where that
/// is refused.
bool may_be_for_reading(int flags) noexcept {
  constexpr int of_writers = O_TRUNC | O_EXCL | O_APPEND;
  return (flags & O_ACCMODE) != O_WRONLY && (flags & of_writers) == 0 && (flags & O_TMPFILE) != O_TMPFILE;
}

/// The file name of the library that a place is in; empty where that is not known.
std::string_view library_of(const void* site) noexcept {
  Dl_info library{};
  if (::dladdr(site, &library) == 0 || library.dli_fname == nullptr) return {};
  const std::string_view path(library.dli_fname);
  return path.substr(path.rfind('/') + 1);
}

bool is_of_fortran(const void* site) noexcept {
  return library_of(site).starts_with("libgfortran");
}

/// ROMIO, the MPI-IO of MPICH and its like: one rank makes a file and closes it, and then all ranks open it.
bool is_of_romio(const void* site) noexcept {
  const std::string_view library = library_of(site);
  if (library.find("romio") != std::string_view::npos) return true;
  return library.starts_with("libmpi") && ::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") == nullptr;
}

/// Open MPI has its MPI-IO in libraries that are called mca_*; others have it in libmpi*.
bool is_of_mpi_io(const void* site) noexcept {
  const std::string_view library = library_of(site);
  return library.starts_with("libmpi") || library.starts_with("libmca_") || library.starts_with("mca_");
}

bool is_for_reading(int flags) noexcept {
  return (flags & O_ACCMODE) == O_RDONLY && (flags & (O_CREAT | O_TRUNC)) == 0 &&
         (flags & O_TMPFILE) != O_TMPFILE;
}

/// No file can be made by such a name, whatever is there.
bool is_of_directory(const char* path, int flags) noexcept {
  return (flags & O_CREAT) != 0 && path != nullptr && std::string_view(path).ends_with('/');
}

/// O_TMPFILE has O_DIRECTORY.
bool is_of_no_file(int flags) noexcept {
  return (flags & (O_DIRECTORY | O_PATH)) != 0;
}

/// The image's link below /proc is no link that somebody has made.
int open_anew(const CoupledFile& image, int flags) {
  return SLUICE_REAL(open)(sluice::files::ImageLink(image).path(), flags & ~O_NOFOLLOW);
}

/// The descriptor of a file that has been opened for the program; it came with close-on-exec.
int hand_over(WrittenFile file, int flags) noexcept {
  if (file.kind == WrittenFile::Kind::failed) return fail(file.error_number);
  const int descriptor = file.file.release();
  if ((flags & O_CLOEXEC) == 0) (void)::fcntl(descriptor, F_SETFD, 0);
  const Inside inside;
  sluice::files::note_given(descriptor, flags);
  return descriptor;
}

/// The place in the program that calls a wrapper.
#define SLUICE_SITE __builtin_return_address(0)

/// How a call opens a file.
struct OpenHow {
  int flags = 0;
  mode_t mode = 0;
  const void* site = nullptr;  ///< SLUICE_SITE
};

/// The descriptor that an open has given, which the record of `sluice verify` gets; -1 if it failed.
int recorded(int descriptor, int directory, const char* path, bool may_write = false) noexcept {
  if (descriptor >= 0 && sluice::files::records_files())
    sluice::files::record_read(directory, path, descriptor, may_write);
  return descriptor;
}

FILE* recorded(FILE* stream, const char* path, bool may_write = false) noexcept {
  if (stream != nullptr) (void)recorded(::fileno(stream), AT_FDCWD, path, may_write);
  return stream;
}

sluice::runtime::FileDescriptor record_any(int directory, const char* path, const OpenHow& how) noexcept {
  if (may_be_for_reading(how.flags))
    sluice::files::record_open(directory, path, sluice::files::Recorded::read);
  if (is_for_reading(how.flags)) return {};
  return sluice::files::record_open_for_writing(directory, path, how.flags, is_of_mpi_io(how.site));
}

template <class OpenPath>
int open_on_disk(int directory, const char* path, const OpenHow& how, const OpenPath& open_path);

/// `open_path(path)` is the C library's call for another path, or for the same.
template <class OpenPath>
int open_unrecorded(int directory, const char* path, const OpenHow& how, const OpenPath& open_path) {
  const auto [flags, mode, site] = how;
  if (stops_at_link(directory, path, flags) || is_of_directory(path, flags))
    return open_path(directory, path);
  if (!is_for_reading(flags)) {
    if (path != nullptr && !is_of_no_file(flags) && sluice::files::records_files())
      sluice::files::record_written(directory, path, may_be_for_reading(flags));
    WrittenFile own = may_be_written(path)
                          ? open_written(directory, path, flags, mode,
                                         is_of_mpi_io(site) ? OpenReason::by_mpi_io : OpenReason::of_program)
                          : WrittenFile{};
    if (own.kind == WrittenFile::Kind::given && (flags & O_CREAT) != 0 && is_of_romio(site))
      sluice::files::keep_until_reopened(own.file.number());
    if (own.kind != WrittenFile::Kind::ordinary) return hand_over(std::move(own), flags);
    bool is_read_on_disk = false;
    if (!is_of_no_file(flags) && may_be_for_reading(flags)) {
      const CoupledFile file = look_for(directory, path);  // waits
      is_read_on_disk = file.kind == CoupledFile::Kind::on_disk;
      if (file.kind == CoupledFile::Kind::image && (flags & O_ACCMODE) == O_RDONLY)
        return recorded(open_anew(file, flags & ~O_CREAT), directory, path);
      if (file.kind == CoupledFile::Kind::image && is_of_fortran(site)) return fail(EACCES);
      if (file.kind == CoupledFile::Kind::failed && (flags & O_CREAT) == 0) return fail(file.error_number);
    }
    if (!is_of_no_file(flags) && change_read(directory, path) != ReaderChange::to_disk) return fail(EACCES);
    int descriptor = open_on_disk(directory, path, how, open_path);
    if (is_read_on_disk) descriptor = leave_unlocked(descriptor);
    return may_be_for_reading(flags) ? recorded(descriptor, directory, path, true) : descriptor;
  }
  const CoupledFile file = look_for(directory, path, site);
  switch (file.kind) {
    case CoupledFile::Kind::image:
      return recorded(open_anew(file, flags), directory, path);
    case CoupledFile::Kind::on_disk:
      return recorded(leave_unlocked(open_path(AT_FDCWD, file.path.c_str())), directory, path);
    case CoupledFile::Kind::failed:
      return fail(file.error_number);
    default:
      return recorded(open_on_disk(directory, path, how, open_path), directory, path);
  }
}

/// The same, in a trial, too.
template <class OpenPath>
int open_it(int directory, const char* path, const OpenHow& how, const OpenPath& open_path) {
  if (path == nullptr || !sluice::files::is_recording())
    return open_unrecorded(directory, path, how, open_path);
  const sluice::runtime::FileDescriptor held = record_any(directory, path, how);
  const int descriptor = open_unrecorded(directory, path, how, open_path);
  if (descriptor < 0 || is_for_reading(how.flags) || !is_of_romio(how.site)) return descriptor;
  const Inside inside;
  (how.flags & O_CREAT) != 0 ? sluice::files::keep_until_reopened(descriptor)
                             : sluice::files::note_reopened(descriptor);
  return descriptor;
}

/// A link on disk may lead to a file that only the run has. What is to be made is first tried without links,
/// so that a file that is none costs nothing.
template <class OpenPath>
int open_on_disk(int directory, const char* path, const OpenHow& how, const OpenPath& open_path) {
  const bool may_make_linked = (how.flags & (O_CREAT | O_EXCL | O_NOFOLLOW)) == O_CREAT &&
                               sluice::files::may_list_coupled() && !sluice::files::may_be_coupled(path);
  const int descriptor = may_make_linked
                             ? SLUICE_REAL(openat)(directory, path, how.flags | O_NOFOLLOW, how.mode)
                             : open_path(directory, path);
  if (descriptor >= 0 || errno != (may_make_linked ? ELOOP : ENOENT)) return descriptor;
  const std::string target = sluice::files::behind_links(directory, path);
  if (!target.empty()) return open_it(directory, target.c_str(), how, open_path);
  return may_make_linked ? open_path(directory, path) : descriptor;
}

/// A file of the disk that nobody wants to know of.
bool is_of_others(const char* path, int flags) noexcept {
  return is_for_reading(flags) && !may_be_coupled(path) && !sluice::files::is_recording() &&
         !sluice::files::records_files();
}

/// The disk has no such file: ENOENT.
template <class OpenPath>
int open_missing(int directory, const char* path, const OpenHow& how, const OpenPath& open_path) {
  const std::string target = sluice::files::behind_links(directory, path);
  return with_parts(directory, path,
                    target.empty() ? -1 : open_it(directory, target.c_str(), how, open_path));
}

/// What a program asks for. Where the disk has a file of others, the call costs no more than without Sluice.
template <class OpenPath>
int open_any(int directory, const char* path, const OpenHow& how, const OpenPath& open_path) {
  if (is_of_others(path, how.flags)) {
    const int descriptor = open_path(directory, path);
    if (descriptor != -1 || errno != ENOENT) return descriptor;
    return cancelled_at_points([&] { return open_missing(directory, path, how, open_path); });
  }
  return undisturbed_point(
      [&] { return may_be_coupled(path); },
      [&] { return with_parts(directory, path, open_it(directory, path, how, open_path)); });
}

bool is_for_reading(std::string_view mode) noexcept {
  return mode.starts_with('r') && mode.find('+') == std::string_view::npos;
}

/// Of open(2), for a mode of fopen(3).
int flags_of(std::string_view words) noexcept {
  words = words.substr(0, words.find(','));
  const auto has = [&](char letter) { return words.find(letter) != std::string_view::npos; };
  int flags = has('+') ? O_RDWR : words.starts_with('r') ? O_RDONLY : O_WRONLY;
  if (words.starts_with('w')) flags |= O_CREAT | O_TRUNC;
  if (words.starts_with('a')) flags |= O_CREAT | O_APPEND;
  if (has('x')) flags |= O_EXCL;
  if (has('e')) flags |= O_CLOEXEC;
  return flags;
}

/// The file is open already: its name below /proc stands for it, but not for its creation.
std::string mode_of_reopening(std::string_view mode) {
  std::string other(mode);
  std::erase(other, 'x');
  return other;
}

/// The stream takes the file by its link below /proc: another open of the same. `open_path(path, mode)`.
template <class OpenPath>
FILE* fopen_written(const char* path, const char* mode, const OpenPath& open_path) {
  const WrittenFile own = open_written(AT_FDCWD, path, flags_of(mode), all_may);
  const bool is_ordinary = own.kind == WrittenFile::Kind::ordinary;
  const bool is_read_on_disk = is_ordinary && may_be_for_reading(flags_of(mode)) &&
                               look_for(AT_FDCWD, path).kind == CoupledFile::Kind::on_disk;  // waits
  if (is_ordinary && change_read(AT_FDCWD, path) == ReaderChange::to_disk) {
    FILE* stream = open_path(path, mode);
    if (is_read_on_disk) stream = leave_unlocked(stream);
    return may_be_for_reading(flags_of(mode)) ? recorded(stream, path, true) : stream;
  }
  if (is_ordinary || own.kind == WrittenFile::Kind::failed) {
    errno = is_ordinary ? EACCES : own.error_number;
    return nullptr;
  }
  const Inside inside;  // the file goes on in the stream
  std::array<char, 32> link;
  std::snprintf(link.data(), link.size(), "/proc/thread-self/fd/%d", own.file.number());
  return open_path(link.data(), mode_of_reopening(mode).c_str());
}

/// `open_path(path, mode)`, as above.
template <class OpenPath>
FILE* fopen_any(const char* path, const char* mode, const void* site, const OpenPath& open_with) {
  if (path != nullptr && sluice::files::is_recording())
    (void)record_any(AT_FDCWD, path, {flags_of(mode), 0, site});
  if (stops_at_link(AT_FDCWD, path, flags_of(mode))) return open_with(path, mode);
  if (!is_for_reading(mode)) {
    if (path != nullptr && sluice::files::records_files())
      sluice::files::record_written(AT_FDCWD, path, may_be_for_reading(flags_of(mode)));
    return path == nullptr ? open_with(path, mode) : fopen_written(path, mode, open_with);
  }
  const auto open_path = [&](const char* other) { return open_with(other, mode); };
  const CoupledFile file = look_for(AT_FDCWD, path, site);
  switch (file.kind) {
    case CoupledFile::Kind::image:
      return recorded(open_path(sluice::files::ImageLink(file).path()), path);
    case CoupledFile::Kind::on_disk:
      return recorded(leave_unlocked(open_path(file.path.c_str())), path);
    case CoupledFile::Kind::failed:
      errno = file.error_number;
      return nullptr;
    default:
      return recorded(open_path(path), path);
  }
}

/// Where the C library's call is to be made once, the links are followed before it. `open_path(path, mode)`,
/// as above.
template <class OpenPath>
FILE* fopen_straight(const char* path, const char* mode, const void* site, const OpenPath& open_with) {
  const bool follows = mode == nullptr || (flags_of(mode) & O_EXCL) == 0;
  const std::string target = follows ? sluice::files::behind_links(AT_FDCWD, path) : std::string();
  return fopen_any(target.empty() ? path : target.c_str(), mode, site, open_with);
}

template <class OpenPath>
FILE* fopen_along_links(const char* path, const char* mode, const void* site, const OpenPath& open_with) {
  if (!is_for_reading(std::string_view(mode)))
    return with_parts(AT_FDCWD, path, fopen_straight(path, mode, site, open_with));
  FILE* const stream = fopen_any(path, mode, site, open_with);
  if (stream != nullptr || errno != ENOENT) return stream;
  const std::string target = sluice::files::behind_links(AT_FDCWD, path);
  return target.empty() ? with_parts(AT_FDCWD, path, stream)
                        : fopen_any(target.c_str(), mode, site, open_with);
}

template <class OpenPath>
FILE* fopen_followed(const char* path, const char* mode, const void* site, const OpenPath& open_with) {
  return undisturbed_point([&] { return may_be_coupled(path); },
                           [&] { return fopen_along_links(path, mode, site, open_with); });
}

/// As the C library does it: what the stream holds back comes before the open, and a stream that cannot be
/// opened again is closed.
template <class OpenPath>
FILE* reopen_any(const char* path, const char* mode, FILE* stream, const void* site,
                 const OpenPath& open_with) {
  if (path == nullptr || stream == nullptr || !sluice::files::may_list_coupled())
    return open_with(path, mode);
  (void)std::fflush(stream);
  bool is_taken_over = false;
  const auto take_over = [&](const char* other, const char* how) {
    is_taken_over = true;
    return open_with(other, how);
  };
  FILE* const opened = undisturbed_point([&] { return may_be_coupled(path); },
                                         [&] { return fopen_straight(path, mode, site, take_over); });
  if (opened != nullptr || is_taken_over) return with_parts(AT_FDCWD, path, opened);
  const int trouble = errno;
  (void)::fclose(stream);
  errno = trouble;
  return with_parts(AT_FDCWD, path, opened);
}

/// Who only reads a file may not write it. `flags`: as of faccessat(2).
int may_access(const CoupledFile& image, const char* path, int mode, int flags) noexcept {
  if ((mode & W_OK) != 0 && !may_be_written(path)) return fail(EACCES);
  return SLUICE_REAL(faccessat)(AT_FDCWD, sluice::files::ImageLink(image).path(), mode,
                                flags & ~AT_SYMLINK_NOFOLLOW);
}

mode_t mode_of(int flags, va_list arguments) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

#define SLUICE_MODE(flags)                       \
  va_list arguments;                             \
  va_start(arguments, flags);                    \
  const mode_t mode = mode_of(flags, arguments); \
  va_end(arguments)

extern "C" {

#define SLUICE_OPEN(open, openat)                                                                   \
  SLUICE_EXPORT int open(const char* path, int flags, ...) {                                        \
    SLUICE_MODE(flags);                                                                             \
    return open_any(AT_FDCWD, path, {flags, mode, SLUICE_SITE},                                     \
                    [&](int, const char* other) { return SLUICE_REAL(open)(other, flags, mode); }); \
  }                                                                                                 \
  SLUICE_EXPORT int openat(int directory, const char* path, int flags, ...) {                       \
    SLUICE_MODE(flags);                                                                             \
    return open_any(directory, path, {flags, mode, SLUICE_SITE}, [&](int from, const char* other) { \
      return SLUICE_REAL(openat)(from, other, flags, mode);                                         \
    });                                                                                             \
  }
SLUICE_OPEN(open, openat)
SLUICE_OPEN(open64, openat64)

#define SLUICE_CHECKED_OPEN(open, openat)                                                                  \
  SLUICE_EXPORT int open(const char* path, int flags) {                                                    \
    return open_any(AT_FDCWD, path, {flags, 0, SLUICE_SITE},                                               \
                    [&](int, const char* other) { return SLUICE_REAL(open)(other, flags); });              \
  }                                                                                                        \
  SLUICE_EXPORT int openat(int directory, const char* path, int flags) {                                   \
    return open_any(directory, path, {flags, 0, SLUICE_SITE},                                              \
                    [&](int from, const char* other) { return SLUICE_REAL(openat)(from, other, flags); }); \
  }
SLUICE_CHECKED_OPEN(__open_2, __openat_2)
SLUICE_CHECKED_OPEN(__open64_2, __openat64_2)

#define SLUICE_FOPEN(fopen)                                                                  \
  SLUICE_EXPORT FILE* fopen(const char* path, const char* mode) {                            \
    return fopen_followed(path, mode, SLUICE_SITE, [&](const char* other, const char* how) { \
      return SLUICE_REAL(fopen)(other, how);                                                 \
    });                                                                                      \
  }
SLUICE_FOPEN(fopen)
SLUICE_FOPEN(fopen64)

#define SLUICE_FREOPEN(freopen)                                                                  \
  SLUICE_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {                \
    return reopen_any(path, mode, stream, SLUICE_SITE, [&](const char* other, const char* how) { \
      return SLUICE_REAL(freopen)(other, how, stream);                                           \
    });                                                                                          \
  }
SLUICE_FREOPEN(freopen)
SLUICE_FREOPEN(freopen64)

#define SLUICE_CREAT(creat)                                                                   \
  SLUICE_EXPORT int creat(const char* path, mode_t mode) {                                    \
    return open_any(AT_FDCWD, path, {O_CREAT | O_WRONLY | O_TRUNC, mode, SLUICE_SITE},        \
                    [&](int, const char* other) { return SLUICE_REAL(creat)(other, mode); }); \
  }
SLUICE_CREAT(creat)
SLUICE_CREAT(creat64)

#define SLUICE_ACCESS(access, flags)                                                                    \
  SLUICE_EXPORT int access(const char* path, int mode) noexcept {                                       \
    return ask_any(                                                                                     \
        AT_FDCWD, path, [&](const CoupledFile& image) { return may_access(image, path, mode, flags); }, \
        [&](int, const char* other) { return SLUICE_REAL(access)(other, mode); });                      \
  }
SLUICE_ACCESS(access, 0)
SLUICE_ACCESS(eaccess, AT_EACCESS)
SLUICE_ACCESS(euidaccess, AT_EACCESS)

SLUICE_EXPORT int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  return ask_any(
      directory, path, [&](const CoupledFile& image) { return may_access(image, path, mode, flags); },
      [&](int from, const char* other) { return SLUICE_REAL(faccessat)(from, other, mode, flags); });
}

}  // extern "C"
