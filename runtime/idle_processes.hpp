#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace sluice::runtime {

/// Whether no thread of the process can act unless somebody else does: each sleeps until another thread of it
/// wakes it, or until something comes in from outside, as the connection to the matcher, and MPI's own
/// threads do. A thread that computes, sleeps for a time, or reads a file or a pipe can. False where the
/// system does not tell.
[[nodiscard]] bool is_idle(pid_t process);

/// Whether nobody of a component of the run can act: of its processes on this machine, and all that they have
/// started, each is one of `waiting` and idle, or waits for the end of its children and has some. `mark`:
/// run_mark().
[[nodiscard]] bool is_component_idle(const std::string& mark, const std::string& component,
                                     const std::vector<pid_t>& waiting);

}  // namespace sluice::runtime
