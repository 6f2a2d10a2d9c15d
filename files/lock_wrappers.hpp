#pragma once
#include <cstdio>

namespace sluice::files {

/// The process has opened a coupled file on disk that its component only reads: from now on, no lock is taken
/// on it for this process. Returns the descriptor, which may be -1. Leaves errno as it is.
int leave_unlocked(int descriptor) noexcept;
inline FILE* leave_unlocked(FILE* stream) noexcept {
  if (stream != nullptr) (void)leave_unlocked(::fileno(stream));
  return stream;
}

}  // namespace sluice::files
