#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "environment.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// What to start and how.
struct ChildOptions {
  std::string program;                 ///< searched in the child's PATH when it has no '/'
  std::vector<std::string> arguments;  ///< argv, the name first
  Environment environment;
  std::filesystem::path directory;  ///< empty: as we are
  int output = -1;                  ///< becomes stdout; -1: as ours
  int error = -1;                   ///< becomes stderr; -1: as ours
  std::vector<int> inherited;       ///< become the descriptors from `first_inherited` on
  int signal_at_our_death = 0;      ///< the kernel sends it when this process is gone
};

/// The descriptor at which a child finds the first of `ChildOptions::inherited`.
inline constexpr int first_inherited = 3;

/// Starts a process in a process group of its own, with stdin from /dev/null and no other descriptors than
/// those named. Returns its id. Throws IoError when it cannot be started, and then there is no process.
[[nodiscard]] pid_t start_child(const ChildOptions& options);

/// Runs a short command to its end; what it wrote, stdout and stderr together (both are replaced in
/// `options`). Empty when it cannot be started. Throws IoError when no descriptors are left for its output.
[[nodiscard]] std::string output_of(ChildOptions options);

struct Pipe {
  runtime::FileDescriptor read_end, write_end;
};
/// Both ends close-on-exec. Throws IoError.
[[nodiscard]] Pipe make_pipe();

}  // namespace sluice::coordinator
