#pragma once

namespace sluice::files {

/// When the library is loaded, in a process with rules.
void note_process_memory() noexcept;

/// Whether this process runs in the memory of its parent: after vfork. What is remembered there is the
/// parent's.
[[nodiscard]] bool is_in_memory_of_parent() noexcept;

}  // namespace sluice::files
