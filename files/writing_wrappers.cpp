// The calls of the C library by which a program ends the writing of a file or brings it to storage, and by
// which it renames, removes and cuts files. docs/design/written-files.md.
#include <fcntl.h>
#include <sys/mman.h>
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

#include "named_file.hpp"
#include "sluice/files/changed_parts.hpp"
#include "wrapped_call.hpp"
#include "written_file.hpp"

namespace {

using sluice::files::change_read;
using sluice::files::close_written;
using sluice::files::ClosedFile;
using sluice::files::CoupledFile;
using sluice::files::fail;
using sluice::files::Inside;
using sluice::files::is_link;
using sluice::files::may_be_coupled;
using sluice::files::may_be_written;
using sluice::files::NamedFile;
using sluice::files::ReaderChange;
using sluice::files::remove_directory;
using sluice::files::remove_read;
using sluice::files::undisturbed;
using sluice::files::undisturbed_point;
using sluice::files::with_parts;
using sluice::files::WrittenFile;
using sluice::runtime::FileDescriptor;
using sluice::runtime::FileIdentity;

constexpr mode_t all_may = 0666;

WrittenFile open_written(int directory, const char* path, int flags) noexcept {
  return sluice::files::open_written(directory, path, flags, all_may);
}

/// `close()` is the C library's call. The program's calls are the ones that count; this library's own are not
/// looked at. The matcher hears of it behind the call, so that it need not look again. `is_replaced`: by
/// another one of the same number, unless the call fails.
template <class Close>
int close_it(int descriptor, const Close& close, bool is_replaced = false) {
  if (sluice::files::is_own_call() || !sluice::files::may_close_written()) return close();
  int before = errno;
  ClosedFile file;
  {
    const Inside inside;
    file = sluice::files::begin_close(descriptor);
  }
  errno = before;
  const int outcome = close();
  if (file.identity == FileIdentity{} || (is_replaced && outcome < 0)) return outcome;
  before = errno;
  const Inside inside;
  sluice::files::end_close(file);
  errno = before;
  return outcome;
}

template <class Close>
int close_any(int descriptor, const Close& close) {
  if (!sluice::files::may_close_written()) return close();
  return undisturbed_point([] { return true; }, [&] { return close_it(descriptor, close); });
}

/// A shell ends a redirection so. `replace` puts another file at the number.
template <class Replace>
int replace_any(int from, int to, const Replace& replace) {
  if (from == to || !sluice::files::may_close_written()) return replace();
  for (const int descriptor : {from, to}) sluice::files::lose_track(descriptor);
  return undisturbed([&] { return close_it(to, replace, true); });
}

/// For a file that is being written, a call that brings it to storage does what its rule promises for a sync:
/// docs/design/written-files.md, "Syncs". `ask` returns errno, or 0.
template <class Ask, class Sync>
int sync_any(const Ask& ask, const Sync& sync) {
  const auto is_ours = [] { return !sluice::files::is_own_call() && sluice::files::may_write_any(); };
  return undisturbed_point(is_ours, [&] {
    if (!is_ours()) return sync();
    const int before = errno;
    const int trouble = [&] {
      const Inside inside;
      return ask();
    }();
    if (trouble != 0) return fail(trouble);
    errno = before;
    return sync();
  });
}

void note_exit() noexcept {
  const Inside inside;
  sluice::files::note_exit();
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

/// Removes what the run has written, and the file on disk.
template <class Remove>
int remove_it(int directory, const char* path, const Remove& remove) noexcept {
  if (may_be_coupled(path) && is_link(directory, path)) return remove();
  if (!may_be_written(path)) return with_parts(directory, path, remove_read_any(directory, path, remove));
  const int trouble = [&] {
    const Inside inside;
    return sluice::files::trouble_of_leaving(directory, path);
  }();
  if (trouble != 0) {
    const bool is_there = open_written(directory, path, O_RDONLY).kind == WrittenFile::Kind::given;
    return is_there ? fail(trouble) : with_parts(directory, path, remove());
  }
  const int before = errno;
  int outcome = ENOENT;
  bool is_in_run = false;
  {
    const Inside inside;
    const NamedFile file = sluice::files::named_file(directory, path);
    if (file.kind == NamedFile::Kind::failed) return fail(file.error_number);
    is_in_run = file.kind == NamedFile::Kind::in_run;
    if (file.kind != NamedFile::Kind::ordinary) outcome = sluice::files::remove_named_file(file.name);
  }
  if (outcome != 0 && outcome != ENOENT) return fail(outcome);
  errno = before;
  const int removed = remove();
  if (removed != 0 && outcome == 0 && is_in_run && errno == ENOENT) {
    errno = before;
    return 0;
  }
  return with_parts(directory, path, removed);
}

template <class Remove>
int remove_any(int directory, const char* path, const Remove& remove) {
  sluice::files::note_call(directory, path, sluice::files::Recorded::asked);
  return undisturbed([&] { return remove_it(directory, path, remove); });
}

template <class Truncate>
int truncate_it(const char* path, off_t length, const Truncate& truncate) noexcept {
  if (!may_be_written(path))
    return change_read(AT_FDCWD, path) == ReaderChange::to_disk ? with_parts(AT_FDCWD, path, truncate())
                                                                : fail(EACCES);
  WrittenFile file = open_written(AT_FDCWD, path, O_WRONLY);
  if (file.kind == WrittenFile::Kind::ordinary) return with_parts(AT_FDCWD, path, truncate());
  if (file.kind == WrittenFile::Kind::failed) return fail(file.error_number);
  const int outcome = ::ftruncate(file.file.number(), length);
  const int before = errno;
  close_written(file.file);
  errno = before;
  return outcome;
}

template <class Truncate>
int truncate_any(const char* path, off_t length, const Truncate& truncate) {
  return undisturbed([&] { return truncate_it(path, length, truncate); });
}

__attribute__((constructor)) void begin() {
  if (std::getenv("SLUICE_SOCKET") == nullptr || std::getenv("SLUICE_RULES") == nullptr) return;
  if (!sluice::files::may_write_any()) return;
  const Inside inside;
  sluice::files::note_start(sluice::files::has_rule_to_write);
  (void)::at_quick_exit([] { sluice::files::end_at_once(); });
}

__attribute__((destructor)) void end() {
  note_exit();
}

}  // namespace

namespace sluice::files {

void end_at_once() noexcept {
  const Inside inside;
  note_end_at_once();
}

void close_written(FileDescriptor& descriptor) noexcept {
  const Inside inside;
  const ClosedFile file = begin_close(descriptor.number());
  descriptor.reset();
  end_close(file);
}

}  // namespace sluice::files

extern "C" {

#define SLUICE_FSYNC(fsync)                                                  \
  SLUICE_EXPORT int fsync(int descriptor) {                                  \
    return sync_any([&] { return sluice::files::sync_written(descriptor); }, \
                    [&] { return SLUICE_REAL(fsync)(descriptor); });         \
  }
SLUICE_FSYNC(fsync)
SLUICE_FSYNC(fdatasync)

SLUICE_EXPORT int msync(void* address, std::size_t length, int flags) {
  const auto sync = [&] { return SLUICE_REAL(msync)(address, length, flags); };
  if ((flags & MS_SYNC) == 0) return sync();
  return sync_any([&] { return sluice::files::sync_mapped(address); }, sync);
}

SLUICE_EXPORT int close(int descriptor) {
  return close_any(descriptor, [&] { return SLUICE_REAL(close)(descriptor); });
}

SLUICE_EXPORT int fclose(FILE* stream) {
  const int descriptor = stream == nullptr ? -1 : ::fileno(stream);
  sluice::files::lose_track(descriptor);  // the stream may write now
  return close_any(descriptor, [&] { return SLUICE_REAL(fclose)(stream); });
}

SLUICE_EXPORT int dup2(int from, int to) noexcept {
  return replace_any(from, to, [&] { return SLUICE_REAL(dup2)(from, to); });
}

SLUICE_EXPORT int dup3(int from, int to, int flags) noexcept {
  return replace_any(from, to, [&] { return SLUICE_REAL(dup3)(from, to, flags); });
}

SLUICE_EXPORT void _exit(int status) {
  sluice::files::end_at_once();
  SLUICE_REAL(_exit)(status);
  __builtin_unreachable();
}

/// The C library's own ends the parent by a call that cannot be wrapped.
SLUICE_EXPORT int daemon(int keeps_directory, int keeps_outputs) noexcept {
  if (!sluice::files::holds_files()) return SLUICE_REAL(daemon)(keeps_directory, keeps_outputs);
  const pid_t child = ::fork();
  if (child > 0) ::_exit(0);
  if (child < 0 || ::setsid() < 0 || (keeps_directory == 0 && ::chdir("/") != 0)) return -1;
  if (keeps_outputs != 0) return 0;
  const int nothing = ::open("/dev/null", O_RDWR);
  if (nothing < 0) return -1;
  for (const int output : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) (void)::dup2(nothing, output);
  if (nothing > STDERR_FILENO) (void)::close(nothing);
  return 0;
}

SLUICE_EXPORT void _Exit(int status) noexcept {
  sluice::files::end_at_once();
  SLUICE_REAL(_exit)(status);
  __builtin_unreachable();
}

SLUICE_EXPORT int unlink(const char* path) noexcept {
  return remove_any(AT_FDCWD, path, [&] { return SLUICE_REAL(unlink)(path); });
}

SLUICE_EXPORT int unlinkat(int directory, const char* path, int flags) noexcept {
  const auto remove = [&] { return SLUICE_REAL(unlinkat)(directory, path, flags); };
  return (flags & AT_REMOVEDIR) != 0 ? remove_directory(directory, path, remove)
                                     : remove_any(directory, path, remove);
}

SLUICE_EXPORT int remove(const char* path) noexcept {
  if (path != nullptr && sluice::files::has_coupled_files(AT_FDCWD, path)) return fail(ENOTEMPTY);
  return remove_any(AT_FDCWD, path, [&] { return SLUICE_REAL(remove)(path); });
}

SLUICE_EXPORT int truncate(const char* path, off_t length) noexcept {
  return truncate_any(path, length, [&] { return SLUICE_REAL(truncate)(path, length); });
}

SLUICE_EXPORT int truncate64(const char* path, off64_t length) noexcept {
  return truncate_any(path, length, [&] { return SLUICE_REAL(truncate64)(path, length); });
}

}  // extern "C"
