#pragma once

namespace sluice::runtime {

/// Whether the process that has started this one belongs to the run, for example a shell, a script, or a
/// process that forks. The launcher does not belong: it has the run's socket in its environment, but no
/// component. Returns false when the system does not report this.
[[nodiscard]] bool is_child_of_run();

}  // namespace sluice::runtime
