#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace sluice::runtime {

/// Whether no thread of the process, and no process that it has started, can act without outside help. Each
/// thread must sleep until another thread of the process wakes it, or until something comes in from outside.
/// The connection to the matcher and MPI's own threads wait in this way. A thread that computes, sleeps for a
/// time, or reads a file or a pipe can act. Returns false when the system does not report this.
[[nodiscard]] bool is_idle(pid_t process);

/// Whether no process of a component of the run can act. This covers the component's processes on this
/// machine, and all processes that they have started. Each must be one of `waiting` and idle, or must have
/// children and wait for their end. `mark`: run_mark(). `has_ended_itself`: there may be no process.
[[nodiscard]] bool is_component_idle(const std::string& mark, const std::string& component,
                                     const std::vector<pid_t>& waiting, bool has_ended_itself);

}  // namespace sluice::runtime
