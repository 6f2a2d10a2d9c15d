#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// The run's directory on a machine that is not the coordinator's: mode 0700, for the matchers' sockets,
/// locked as long as it is used. The matcher that made it also starts a caretaker, a process that outlives it
/// and removes the directory and what the run has left on this machine, whoever was killed.
class NodeDirectory {
 public:
  /// Makes the directory of `socket`, unless it is there: then this is the coordinator's machine, or another
  /// matcher of this one has made it. To be called before there are threads and MPI. Throws Error.
  explicit NodeDirectory(const std::string& socket);
  /// The matcher ends in order: waits until the caretaker is done.
  ~NodeDirectory();
  NodeDirectory(const NodeDirectory&) = delete;
  NodeDirectory& operator=(const NodeDirectory&) = delete;

 private:
  void start_caretaker(const std::string& socket);

  std::filesystem::path path_;
  FileDescriptor lock_;
  FileDescriptor line_;  ///< its end tells the caretaker of ours
  pid_t caretaker_ = 0;
};

}  // namespace sluice::runtime
