#pragma once
#include <string>

#include "mpi_handles.hpp"
#include "sluice/storage/file_descriptor.hpp"

namespace sluice::api {

/// Detects other writers of the same file: other communicators of this program, or other programs that use
/// this library. One rank keeps the locks for its communicator, far behind the file's data. One lock marks
/// presence; the other holds off new writers.
class WriterLock {
 public:
  /// For a dataset that only reads, or for files without locks: other writers are always possible.
  WriterLock() = default;
  /// Announces one more communicator that writes to the file. Waits briefly while another writer holds
  /// writers off. Throws nothing: without locks, other writers are possible.
  explicit WriterLock(const std::string& path) noexcept;

  /// True if there are no other writers now, and none can come until release(): new writers wait in their
  /// open. Meanwhile this rank must not wait for a process that may be in this open.
  [[nodiscard]] bool hold_off() noexcept;
  void release() noexcept;

 private:
  storage::FileDescriptor file_;
};

/// Whether a writer has announced itself for the file. False if the file has no locks.
[[nodiscard]] bool has_writers(const std::string& path) noexcept;

/// Announces this communicator to other writers of the file; rank 0 does this. Used only on file systems of
/// this machine (`is_local`), where locks and written data are visible at once. On other file systems, other
/// writers are always possible. The master identifies a dataset in several files. Not collective.
[[nodiscard]] WriterLock join_writers(const Communicator& comm, const std::string& path,
                                      bool is_local) noexcept;

}  // namespace sluice::api
