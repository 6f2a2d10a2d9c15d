#pragma once
#include <sys/types.h>

#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::files {

/// What a path of the writer leads to.
struct WrittenFile {
  enum class Kind { ordinary, given, failed };
  Kind kind = Kind::ordinary;
  runtime::FileDescriptor file = {};  ///< opened with the flags; close-on-exec
  int error_number = 0;
  std::uint32_t names = 1;  ///< that it has in the run
};

enum class OpenReason {
  of_program,
  renamed,    ///< OpenFile::is_renamed
  adopted,    ///< the same, and OpenFile::is_adopted
  by_mpi_io,  ///< OpenFile::is_by_mpi_io
  to_look,    ///< as to_read, for what stat(2) tells
  to_read,    ///< what the process knows is enough: it changes neither bytes nor attributes
};

/// Opens a file that this component writes: a new one, the one that is being written, or a copy of the one
/// that was published. An open for reading finds what this run has written, and otherwise the disk, at once.
/// `directory`: of a descriptor, or AT_FDCWD; `flags` and `mode` as of open(2).
[[nodiscard]] WrittenFile open_written_file(int directory, const char* path, int flags, mode_t mode,
                                            OpenReason reason = OpenReason::of_program) noexcept;

/// Whether a link at a path that the component writes leads to a file on disk that no rule covers.
[[nodiscard]] bool leads_to_ordinary_file(int directory, const char* path) noexcept;
/// Whether there is a directory before each ".." of the path, as the kernel wants it.
[[nodiscard]] bool may_go_up(int directory, const char* path);
/// Why a file cannot be made at the path, as the kernel says of its directory: errno, or 0.
[[nodiscard]] int trouble_of_parent(int directory, const char* path) noexcept;
/// Why no file of the directory can lose this name: EACCES, EROFS, or 0.
[[nodiscard]] int trouble_of_leaving(int directory, const char* path) noexcept;
/// The program has set its mask of permissions.
void note_umask(mode_t mask) noexcept;

/// The program has been given the descriptor: what it changes by it is noted, if that can be known.
void note_given(int descriptor, int flags) noexcept;

/// The file counts as open until this process opens it again: who has opened it is about to close it, and to
/// open it anew with others.
void keep_until_reopened(int file) noexcept;
void note_reopened(int file) noexcept;

/// How many names the file of a descriptor has in the run, where the kernel knows of none.
[[nodiscard]] std::uint32_t names_of_open_file(int descriptor) noexcept;
/// Whether the matcher has made the descriptor's file for a program to write.
[[nodiscard]] bool is_written_in_memory(int descriptor) noexcept;

/// Where the descriptor, or the memory, is of a file that is being written: readers see it, and it is saved,
/// as its rule says. Returns errno, or 0.
[[nodiscard]] int sync_written(int descriptor) noexcept;
[[nodiscard]] int sync_mapped(const void* address) noexcept;

/// A file whose last descriptor a process closes; all zero: it is none that it writes.
struct ClosedFile {
  runtime::FileIdentity identity = {};
  bool has_landing = false;  ///< it has a name on disk, where it is complete when the matcher says so
  bool is_told = false;      ///< the matcher has heard that the process leaves it
};

/// Whether the process, or its parent by vfork, may have a file open that it writes: without one,
/// begin_close() finds nothing.
[[nodiscard]] bool may_close_written() noexcept;
/// The descriptor is about to be closed: what the process has changed by it, if that is known, is told now.
[[nodiscard]] ClosedFile begin_close(int descriptor) noexcept;
/// It is closed: the matcher hears that the process has left the file in order.
void end_close(const ClosedFile& file) noexcept;
/// The same for all files, and for steps of streams that the process reads, at the end of the process.
void note_exit() noexcept;
/// The same where the process may be in a signal handler, and ends at once.
void note_end_at_once() noexcept;
/// Whether this process itself has opened such files, or has such steps; neither a forked child nor one of
/// vfork has.
[[nodiscard]] bool holds_files() noexcept;
/// The process is about to go on as another program: it leaves all its files.
void note_exec() noexcept;
/// At the start of a program: which of the files that are being written it has inherited. `may_be_ours`:
/// whether the component may write the path by a rule; it costs little, and is never false where it may.
void note_start(bool (*may_be_ours)(const char* path)) noexcept;

}  // namespace sluice::files
