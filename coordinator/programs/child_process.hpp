#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "environment.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// A program to start, with its arguments, environment and descriptors.
struct ChildOptions {
  std::string program;                 ///< searched in the child's PATH if the name has no '/'
  std::vector<std::string> arguments;  ///< argv, with the program's name first
  Environment environment;
  std::filesystem::path directory;  ///< empty: the directory of this process
  int output = -1;                  ///< becomes stdout; -1: the stdout of this process
  int error = -1;                   ///< becomes stderr; -1: the stderr of this process
  std::vector<int> inherited;       ///< become the child's descriptors from `first_inherited` on
  int signal_at_our_death = 0;      ///< the kernel sends this signal to the child when this process ends
};

/// The descriptor at which a child finds the first of `ChildOptions::inherited`.
inline constexpr int first_inherited = 3;

/// Starts a process in its own process group, with stdin from /dev/null. The child inherits only the named
/// descriptors. Returns the process id. Throws IoError if the process cannot be started; then no process
/// exists.
[[nodiscard]] pid_t start_child(const ChildOptions& options);

/// Waits until a child process has ended. Returns its status as waitpid() gives it.
int wait_for_end(pid_t child) noexcept;

/// Runs a short command to its end, and returns its output: stdout and stderr together. Replaces both
/// descriptors in `options`. Returns an empty text if the command cannot be started. Throws IoError if no
/// descriptors are left for the output.
[[nodiscard]] std::string output_of(ChildOptions options);

struct Pipe {
  runtime::FileDescriptor read_end, write_end;
};
/// Creates a pipe; both ends are close-on-exec. Throws IoError.
[[nodiscard]] Pipe make_pipe();

}  // namespace sluice::coordinator
