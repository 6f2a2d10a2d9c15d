#pragma once
#include <sys/types.h>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// A guard is a process that looks after what another leaves behind: the coordinator's guardian, and the
/// caretakers of other nodes. A pipe between the two tells it whether the other ended in order. This makes
/// the caller one: by its name, out of reach of the signals that end a run.
void begin_to_guard(const char* name) noexcept;

/// The guard's part: waits; true when it was dismissed, false when who held the line is gone.
[[nodiscard]] bool await_dismissal(int line) noexcept;

/// The other part, at an end in order: closes the line and waits for the guard's end.
void dismiss(FileDescriptor& line, pid_t guard) noexcept;

}  // namespace sluice::runtime
