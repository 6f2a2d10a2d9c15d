// The calls of the C library by which a program ends the writing of a file, and by which it renames, removes
// and cuts files. docs/design/written-files.md.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "open_record.hpp"
#include "wrapped_call.hpp"
#include "written_file.hpp"

namespace {

using sluice::files::change_read;
using sluice::files::CoupledFile;
using sluice::files::fail;
using sluice::files::Inside;
using sluice::files::is_link;
using sluice::files::may_be_coupled;
using sluice::files::may_be_written;
using sluice::files::ReaderChange;
using sluice::files::remove_read;
using sluice::files::WrittenFile;
using sluice::runtime::FileDescriptor;
using sluice::runtime::FileIdentity;

constexpr mode_t all_may = 0666;

WrittenFile open_written(int directory, const char* path, int flags, bool is_renamed = false) noexcept {
  return sluice::files::open_written(directory, path, flags, all_may, is_renamed);
}

/// `close()` is the C library's call. The program's calls are the ones that count; this library's own are not
/// looked at. The matcher hears of it behind the call, so that it need not look again.
template <class Close>
int close_any(int descriptor, const Close& close) {
  if (sluice::files::is_inside) return close();
  int before = errno;
  FileIdentity file;
  {
    const Inside inside;
    file = sluice::files::begin_close(descriptor);
  }
  errno = before;
  const int outcome = close();
  if (file == FileIdentity{}) return outcome;
  before = errno;
  const Inside inside;
  sluice::files::end_close(file);
  errno = before;
  return outcome;
}

/// The same for a file that this library has opened for the program.
void close_written(FileDescriptor& descriptor) noexcept {
  const Inside inside;
  const FileIdentity file = sluice::files::begin_close(descriptor.number());
  descriptor.reset();
  sluice::files::end_close(file);
}

void note_exit() noexcept {
  const Inside inside;
  sluice::files::note_exit();
}

/// Returns errno, or 0.
int copy(int from, int to) noexcept {
  for (;;) {
    constexpr std::size_t piece = std::size_t{1} << 30;
    const ssize_t copied = ::sendfile(to, from, nullptr, piece);
    if (copied == 0) return 0;
    if (copied < 0 && errno != EINTR) return errno;
  }
}

int open_ordinary(int directory, const char* path, int flags) noexcept {
  const Inside inside;
  return ::openat(directory, path, flags | O_CLOEXEC, all_may);
}

/// Its owner can always read and write a file of the run, because the matcher opens it again for others.
void copy_facts(int from, int to) noexcept {
  struct stat facts {};
  if (::fstat(from, &facts) != 0) return;
  const timespec times[] = {facts.st_atim, facts.st_mtim};
  constexpr mode_t permissions = 07777;
  (void)::fchmod(to, (facts.st_mode & permissions) | S_IRUSR | S_IWUSR);
  (void)::futimens(to, times);
}

/// A new file of another one's bytes, permissions and times.
struct Copy {
  int from_directory;
  const char* from;
  int to_directory;
  const char* to;
  bool must_be_new;  ///< else it takes the place of what is there
};

/// Returns errno, or 0; ENODATA: neither is coupled, or the source is not there.
int copy_file(const Copy& copied) noexcept {
  const auto [from_directory, from, to_directory, to, must_be_new] = copied;
  const bool from_is_written = may_be_written(from);
  WrittenFile source;
  if (from_is_written) source = open_written(from_directory, from, O_RDONLY);
  if (source.kind == WrittenFile::Kind::failed) return source.error_number;
  const bool is_own = source.kind == WrittenFile::Kind::given;
  if (!is_own && !may_be_written(to)) return ENODATA;
  if (!is_own) {
    struct stat facts {};
    const int descriptor = open_ordinary(from_directory, from, O_RDONLY);
    if (descriptor < 0) return ENODATA;  // the C library says why
    source.file = FileDescriptor(descriptor);
    if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return ENODATA;
  }
  const int flags = O_WRONLY | O_CREAT | (must_be_new ? O_EXCL : O_TRUNC);
  WrittenFile target;
  if (may_be_written(to)) target = open_written(to_directory, to, flags, !must_be_new);
  if (target.kind == WrittenFile::Kind::failed) return target.error_number;
  if (target.kind == WrittenFile::Kind::ordinary) {
    if (!is_own) return ENODATA;
    target.file = FileDescriptor(open_ordinary(to_directory, to, flags));
    if (!target.file) return errno;
  }
  const int trouble = copy(source.file.number(), target.file.number());
  if (trouble == 0) copy_facts(source.file.number(), target.file.number());
  close_written(target.file);
  return trouble;
}

/// For a component that only reads the file.
template <class Remove>
int remove_read_any(int directory, const char* path, const Remove& remove) noexcept {
  switch (remove_read(directory, path)) {
    case ReaderChange::refused:
      return fail(EACCES);
    case ReaderChange::removed:
      return 0;
    default:
      return remove();
  }
}

/// Removes what the run has written, or the file on disk.
template <class Remove>
int remove_any(int directory, const char* path, const Remove& remove) noexcept {
  if (may_be_coupled(path) && is_link(directory, path)) return remove();
  if (!may_be_written(path)) return remove_read_any(directory, path, remove);
  const int before = errno;
  int outcome = 0;
  {
    const Inside inside;
    outcome = sluice::files::remove_written_file(directory, path);
  }
  if (outcome != 0 && outcome != ENOENT) return fail(outcome);
  errno = before;
  const int removed = remove();
  if (removed != 0 && outcome == 0 && errno == ENOENT) {
    errno = before;
    return 0;
  }
  return removed;
}

bool is_in_place(int directory, const char* path) noexcept {
  if (!may_be_written(path)) return false;
  const int before = errno;
  const Inside inside;
  const bool is = sluice::files::is_in_place(directory, path);
  errno = before;
  return is;
}

/// The file on disk has got its name. Readers get it as one that was written by this process. Whoever has the
/// former one open keeps that.
int publish_renamed(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  if (may_be_written(from)) {
    const Inside inside;
    (void)sluice::files::remove_written_file(from_directory, from);
  }
  {
    const Inside inside;  // as all files of the run, its owner can read and write it
    struct stat facts {};
    constexpr mode_t owner_may = S_IRUSR | S_IWUSR, permissions = 07777;
    if (::fstatat(to_directory, to, &facts, 0) == 0 && (facts.st_mode & owner_may) != owner_may)
      (void)::fchmodat(to_directory, to, (facts.st_mode & permissions) | owner_may, 0);
  }
  WrittenFile renamed = open_written(to_directory, to, O_WRONLY, true);
  if (renamed.kind == WrittenFile::Kind::failed) return fail(renamed.error_number);
  if (renamed.kind == WrittenFile::Kind::given) close_written(renamed.file);
  return 0;
}

/// Removes a copy that did not get its name.
int fail_without(int directory, const std::string& part, int trouble) noexcept {
  const Inside inside;
  if (!part.empty()) (void)::unlinkat(directory, part.c_str(), 0);
  return fail(trouble);
}

/// To a name of a file on disk that the component writes there itself. Of a file in memory there is a copy on
/// the disk first.
template <class Rename>
int rename_in_place(int from_directory, const char* from, int to_directory, const char* to,
                    const Rename& rename) {
  const int before = errno;
  std::string part;
  if (may_be_written(from) && !is_in_place(from_directory, from)) {
    part = std::string(to) + ".renamed-" + std::to_string(::getpid());
    const int trouble = copy_file({from_directory, from, to_directory, part.c_str(), true});
    if (trouble != 0 && trouble != ENODATA) return fail_without(to_directory, part, trouble);
    if (trouble == ENODATA) part.clear();  // it is on the disk
  }
  if (part.empty()) {
    if (const int outcome = rename(); outcome != 0) return outcome;
    errno = before;
    return publish_renamed(from_directory, from, to_directory, to);
  }
  if (SLUICE_REAL(renameat)(to_directory, part.c_str(), to_directory, to) != 0)
    return fail_without(to_directory, part, errno);
  errno = before;
  const int published = publish_renamed(to_directory, part.c_str(), to_directory, to);
  return published == 0 ? ::unlinkat(from_directory, from, 0) : published;
}

/// For a component that only reads the files. A file that is not on disk is on no file system for which
/// rename could do anything: `mv` copies it then, and removes it.
template <class Rename>
int rename_read_any(int from_directory, const char* from, int to_directory, const char* to,
                    const Rename& rename) {
  if (change_read(to_directory, to) != ReaderChange::to_disk) return fail(EACCES);
  switch (remove_read(from_directory, from)) {
    case ReaderChange::refused:
      return fail(EACCES);
    case ReaderChange::removed:
      return fail(EXDEV);
    default:
      return rename();
  }
}

template <class Rename>
int rename_any(int from_directory, const char* from, int to_directory, const char* to, const Rename& rename) {
  if (from == nullptr || to == nullptr) return rename();
  if (sluice::files::is_recording()) sluice::files::record_open(to_directory, to, true);
  if (may_be_coupled(from) && is_link(from_directory, from)) return rename();
  if (!may_be_written(from) && !may_be_written(to))
    return rename_read_any(from_directory, from, to_directory, to, rename);
  // A file that gets its own name stays as it is.
  if (from_directory == to_directory && std::strcmp(from, to) == 0)
    return ::faccessat(from_directory, from, F_OK, 0);
  if (is_in_place(to_directory, to)) return rename_in_place(from_directory, from, to_directory, to, rename);
  const int before = errno;
  const int trouble = copy_file({from_directory, from, to_directory, to, false});
  errno = before;
  if (trouble == ENODATA) return rename();
  if (trouble != 0) return fail(trouble);
  return ::unlinkat(from_directory, from, 0);
}

/// For a component that only reads the file: it stays as it is, so a copy on disk is as good as a link to it.
/// Returns errno, or 0; ENODATA: it is not of the run.
int copy_read(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  const CoupledFile source = sluice::files::look_for(from_directory, from);
  if (source.kind == CoupledFile::Kind::failed) return source.error_number;
  if (source.kind != CoupledFile::Kind::image) return ENODATA;
  const FileDescriptor target(open_ordinary(to_directory, to, O_WRONLY | O_CREAT | O_EXCL));
  if (!target) return errno;
  const FileDescriptor image(open_ordinary(AT_FDCWD, sluice::files::ImageLink(source).path(), O_RDONLY));
  const int trouble = image ? copy(image.number(), target.number()) : errno;
  if (trouble == 0) copy_facts(image.number(), target.number());
  return trouble;
}

/// A file of the run cannot have two names. `flags`: as of linkat(2); where links are followed, a file
/// without a name (O_TMPFILE) gets one by its link below /proc.
template <class Link>
int link_any(int from_directory, const char* from, int to_directory, const char* to, int flags,
             const Link& link) {
  if (from == nullptr || to == nullptr || (!may_be_coupled(from) && !may_be_coupled(to)) ||
      ((flags & AT_SYMLINK_FOLLOW) == 0 && is_link(from_directory, from)))
    return link();
  if (change_read(to_directory, to) != ReaderChange::to_disk) return fail(EACCES);
  const int before = errno;
  int trouble = ENODATA;
  if (may_be_written(from) || may_be_written(to)) {
    trouble = copy_file({from_directory, from, to_directory, to, true});
  } else if (may_be_coupled(from)) {
    trouble = copy_read(from_directory, from, to_directory, to);
  }
  errno = before;
  if (trouble == ENODATA) return link();
  return trouble == 0 ? 0 : fail(trouble);
}

template <class Truncate>
int truncate_any(const char* path, off_t length, const Truncate& truncate) noexcept {
  if (!may_be_written(path))
    return change_read(AT_FDCWD, path) == ReaderChange::to_disk ? truncate() : fail(EACCES);
  WrittenFile file = open_written(AT_FDCWD, path, O_WRONLY);
  if (file.kind == WrittenFile::Kind::ordinary) return truncate();
  if (file.kind == WrittenFile::Kind::failed) return fail(file.error_number);
  const int outcome = ::ftruncate(file.file.number(), length);
  const int before = errno;
  close_written(file.file);
  errno = before;
  return outcome;
}

__attribute__((constructor)) void begin() {
  if (std::getenv("SLUICE_SOCKET") == nullptr || std::getenv("SLUICE_RULES") == nullptr) return;
  if (!sluice::files::may_write_any()) return;
  const Inside inside;
  sluice::files::note_start(sluice::files::has_rule_to_write);
}

__attribute__((destructor)) void end() {
  note_exit();
}

}  // namespace

extern "C" {

SLUICE_EXPORT int close(int descriptor) {
  return close_any(descriptor, [&] { return SLUICE_REAL(close)(descriptor); });
}

SLUICE_EXPORT int fclose(FILE* stream) {
  return close_any(stream == nullptr ? -1 : ::fileno(stream), [&] { return SLUICE_REAL(fclose)(stream); });
}

SLUICE_EXPORT void _exit(int status) {
  note_exit();
  SLUICE_REAL(_exit)(status);
  __builtin_unreachable();
}

SLUICE_EXPORT void _Exit(int status) noexcept {
  note_exit();
  SLUICE_REAL(_exit)(status);
  __builtin_unreachable();
}

SLUICE_EXPORT int rename(const char* from, const char* to) noexcept {
  return rename_any(AT_FDCWD, from, AT_FDCWD, to, [&] { return SLUICE_REAL(rename)(from, to); });
}

SLUICE_EXPORT int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return rename_any(from_directory, from, to_directory, to,
                    [&] { return SLUICE_REAL(renameat)(from_directory, from, to_directory, to); });
}

SLUICE_EXPORT int renameat2(int from_directory, const char* from, int to_directory, const char* to,
                            unsigned int flags) noexcept {
  const auto rename = [&] { return SLUICE_REAL(renameat2)(from_directory, from, to_directory, to, flags); };
  if ((flags & ~static_cast<unsigned int>(RENAME_NOREPLACE)) != 0) return rename();
  return rename_any(from_directory, from, to_directory, to, rename);
}

SLUICE_EXPORT int link(const char* from, const char* to) noexcept {
  return link_any(AT_FDCWD, from, AT_FDCWD, to, 0, [&] { return SLUICE_REAL(link)(from, to); });
}

SLUICE_EXPORT int linkat(int from_directory, const char* from, int to_directory, const char* to,
                         int flags) noexcept {
  return link_any(from_directory, from, to_directory, to, flags,
                  [&] { return SLUICE_REAL(linkat)(from_directory, from, to_directory, to, flags); });
}

SLUICE_EXPORT int unlink(const char* path) noexcept {
  return remove_any(AT_FDCWD, path, [&] { return SLUICE_REAL(unlink)(path); });
}

SLUICE_EXPORT int unlinkat(int directory, const char* path, int flags) noexcept {
  const auto remove = [&] { return SLUICE_REAL(unlinkat)(directory, path, flags); };
  return (flags & AT_REMOVEDIR) != 0 ? remove() : remove_any(directory, path, remove);
}

SLUICE_EXPORT int remove(const char* path) noexcept {
  return remove_any(AT_FDCWD, path, [&] { return SLUICE_REAL(remove)(path); });
}

SLUICE_EXPORT int truncate(const char* path, off_t length) noexcept {
  return truncate_any(path, length, [&] { return SLUICE_REAL(truncate)(path, length); });
}

SLUICE_EXPORT int truncate64(const char* path, off64_t length) noexcept {
  return truncate_any(path, length, [&] { return SLUICE_REAL(truncate64)(path, length); });
}

}  // extern "C"
