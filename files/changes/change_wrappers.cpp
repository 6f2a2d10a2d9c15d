// The calls of the C library that change a file by its descriptor, and those by which others may: so the
// matcher need not compare the whole file with what it began as. docs/design/written-files.md, "Changed
// parts".
//
// A signal handler may call most of them, and a thread may be cancelled in them: nothing here allocates or
// waits, and what is about to be written is noted before.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../wrapped_call.hpp"
#include "sluice/files/changed_parts.hpp"

namespace {

using sluice::files::notes_changes;

std::uint64_t bytes_of(const iovec* parts, int count) noexcept {
  std::uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

/// `write()` is the C library's call.
template <class Write>
ssize_t write_counted(const Write& write) {
  const ssize_t written = write();
  sluice::files::count_written(written);
  return written;
}

template <class Write>
ssize_t write_at(int descriptor, off_t offset, std::uint64_t bytes, const Write& write) {
  if (!notes_changes()) return write();
  sluice::files::note_write(descriptor, offset, bytes);
  return write_counted(write);
}

template <class Write>
ssize_t write_here(int descriptor, std::uint64_t bytes, const Write& write) {
  if (!notes_changes()) return write();
  const auto place = sluice::files::note_write_here(descriptor, bytes);
  const ssize_t written = write_counted(write);
  if (place && written > 0)
    sluice::files::expect_place(descriptor, *place + static_cast<std::uint64_t>(written));
  return written;
}

/// A process that is started may inherit descriptors.
__attribute__((constructor)) void begin() {
  if (std::getenv("SLUICE_SOCKET") == nullptr || !sluice::files::may_write_any()) return;
  (void)::pthread_atfork([] { sluice::files::lose_track_of_all(); }, nullptr, nullptr);
}

}  // namespace

extern "C" {

SLUICE_EXPORT ssize_t write(int descriptor, const void* bytes, std::size_t count) {
  return write_here(descriptor, count, [&] { return SLUICE_REAL(write)(descriptor, bytes, count); });
}

SLUICE_EXPORT ssize_t writev(int descriptor, const iovec* parts, int count) {
  const auto real = [&] { return SLUICE_REAL(writev)(descriptor, parts, count); };
  return notes_changes() ? write_here(descriptor, bytes_of(parts, count), real) : real();
}

#define SLUICE_PWRITE(pwrite, offset_type)                                                                 \
  SLUICE_EXPORT ssize_t pwrite(int descriptor, const void* bytes, std::size_t count, offset_type offset) { \
    return write_at(descriptor, offset, count,                                                             \
                    [&] { return SLUICE_REAL(pwrite)(descriptor, bytes, count, offset); });                \
  }
SLUICE_PWRITE(pwrite, off_t)
SLUICE_PWRITE(pwrite64, off64_t)

#define SLUICE_PWRITEV(pwritev, offset_type)                                                         \
  SLUICE_EXPORT ssize_t pwritev(int descriptor, const iovec* parts, int count, offset_type offset) { \
    const auto real = [&] { return SLUICE_REAL(pwritev)(descriptor, parts, count, offset); };        \
    return notes_changes() ? write_at(descriptor, offset, bytes_of(parts, count), real) : real();    \
  }
SLUICE_PWRITEV(pwritev, off_t)
SLUICE_PWRITEV(pwritev64, off64_t)

#define SLUICE_CUT(ftruncate, offset_type)                                 \
  SLUICE_EXPORT int ftruncate(int descriptor, offset_type size) noexcept { \
    if (notes_changes()) sluice::files::note_cut(descriptor, size);        \
    return SLUICE_REAL(ftruncate)(descriptor, size);                       \
  }
SLUICE_CUT(ftruncate, off_t)
SLUICE_CUT(ftruncate64, off64_t)

#define SLUICE_MMAP(mmap, offset_type)                                                                  \
  SLUICE_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int descriptor, \
                           offset_type offset) noexcept {                                               \
    sluice::files::note_mapping(descriptor, flags);                                                     \
    return SLUICE_REAL(mmap)(address, bytes, protection, flags, descriptor, offset);                    \
  }
SLUICE_MMAP(mmap, off_t)
SLUICE_MMAP(mmap64, off64_t)

// What is rare is not noted, but gives up the notes.

/// `call` is the C library's, with the names of its parameters.
#define SLUICE_UNSEEN(result, call, parameters, arguments, descriptor, ...) \
  SLUICE_EXPORT result call parameters __VA_ARGS__ {                        \
    if (notes_changes()) sluice::files::lose_track(descriptor);             \
    return SLUICE_REAL(call) arguments;                                     \
  }
#define SLUICE_UNSEEN_PWRITEV(pwritev2, offset_type)                                            \
  SLUICE_UNSEEN(ssize_t, pwritev2,                                                              \
                (int descriptor, const iovec* parts, int count, offset_type offset, int flags), \
                (descriptor, parts, count, offset, flags), descriptor)
SLUICE_UNSEEN_PWRITEV(pwritev2, off_t)
SLUICE_UNSEEN_PWRITEV(pwritev64v2, off64_t)
SLUICE_UNSEEN(int, fallocate, (int descriptor, int mode, off_t offset, off_t bytes),
              (descriptor, mode, offset, bytes), descriptor)
SLUICE_UNSEEN(int, fallocate64, (int descriptor, int mode, off64_t offset, off64_t bytes),
              (descriptor, mode, offset, bytes), descriptor)
SLUICE_UNSEEN(int, posix_fallocate, (int descriptor, off_t offset, off_t bytes), (descriptor, offset, bytes),
              descriptor)
SLUICE_UNSEEN(int, posix_fallocate64, (int descriptor, off64_t offset, off64_t bytes),
              (descriptor, offset, bytes), descriptor)
SLUICE_UNSEEN(ssize_t, splice,
              (int from, off64_t* from_offset, int to, off64_t* offset, std::size_t bytes, unsigned flags),
              (from, from_offset, to, offset, bytes, flags), to)
SLUICE_UNSEEN(int, dup, (int descriptor), (descriptor), descriptor, noexcept)
SLUICE_UNSEEN(FILE*, fdopen, (int descriptor, const char* mode), (descriptor, mode), descriptor, noexcept)

SLUICE_EXPORT ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  if (notes_changes() && message->msg_controllen > 0) sluice::files::lose_track_of_all();
  return SLUICE_REAL(sendmsg)(socket, message, flags);
}

SLUICE_EXPORT int system(const char* command) {
  if (notes_changes()) sluice::files::lose_track_of_all();
  return SLUICE_REAL(system)(command);
}

SLUICE_EXPORT FILE* popen(const char* command, const char* mode) {
  if (notes_changes()) sluice::files::lose_track_of_all();
  return SLUICE_REAL(popen)(command, mode);
}

}  // extern "C"
