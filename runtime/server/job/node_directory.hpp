#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// The run's directory on a machine other than the coordinator's: mode 0700, for the matchers' sockets,
/// locked while it is used. The matcher that made the directory also starts a caretaker. This process
/// outlives the matcher. It removes the directory and everything that the run has left on this machine, even
/// when other processes were killed.
class NodeDirectory {
 public:
  /// Makes the directory of `socket`, unless it exists. If it exists, this is the coordinator's machine, or
  /// another matcher of this machine has made the directory. Call this before threads and MPI start. Throws
  /// Error.
  explicit NodeDirectory(const std::string& socket);
  /// The matcher ends in order: waits until the caretaker has finished.
  ~NodeDirectory();
  NodeDirectory(const NodeDirectory&) = delete;
  NodeDirectory& operator=(const NodeDirectory&) = delete;

 private:
  void start_caretaker(const std::string& socket);

  std::filesystem::path path_;
  FileDescriptor lock_;
  FileDescriptor line_;  ///< closing it tells the caretaker that this matcher has ended
  pid_t caretaker_ = 0;
};

}  // namespace sluice::runtime
