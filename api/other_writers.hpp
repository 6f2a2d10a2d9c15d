#pragma once
#include <string>

#include "mpi_handles.hpp"
#include "sluice/storage/file_descriptor.hpp"

namespace sluice::api {

/// Whether others have the same file open for writing: other communicators of this program, or other programs
/// that use this library. Kept by one rank for its communicator, as locks far behind the file's data: one
/// that says that it is there, and one that holds off those who want to be.
class OtherWriters {
 public:
  /// For a dataset that only reads, or where files have no such locks: there may always be others.
  OtherWriters() = default;
  /// Says that one more communicator writes to the file. Waits for a moment where another one holds writers
  /// off. Throws nothing: without locks there may be others.
  explicit OtherWriters(const std::string& path) noexcept;

  /// True when there are no others now, and none will be until release(): they wait in their open. While that
  /// is so this rank waits for nobody who might be in such an open.
  [[nodiscard]] bool hold_off() noexcept;
  void release() noexcept;

 private:
  storage::FileDescriptor file_;
};

/// Whether anybody has said so of the file. False where files have no such locks.
[[nodiscard]] bool has_writers(const std::string& path) noexcept;

/// Tells other writers of the file that this communicator is one: rank 0 does. Only where locks and what
/// others wrote are seen at once, on file systems of this machine (`is_local`); elsewhere there may always be
/// others. A dataset in several files is known by its master. Not collective.
[[nodiscard]] OtherWriters join_writers(const Communicator& comm, const std::string& path,
                                        bool is_local) noexcept;

}  // namespace sluice::api
