#pragma once

namespace sluice::runtime {

/// Whether the process that has started this one belongs to the run as well: a shell, a script, a process
/// that forks. The launcher does not: it has the run's socket in its environment, and no component. False
/// where the system does not tell.
[[nodiscard]] bool is_child_of_run();

}  // namespace sluice::runtime
