#pragma once
#include <functional>

#include "exchange_protocol.hpp"

namespace sluice::runtime {

/// Receives the answer of another matcher, or why there is none.
using MemoryReceiver = std::function<void(MemoryRead)>;

/// Files that were written on this matcher: steps, and what is still open.
class StepFiles {
 public:
  virtual ~StepFiles() = default;
  /// Calls the receiver at once or later: with the bytes, or with a failure.
  virtual void read(const FileRange& range, MemoryReceiver receiver) = 0;
};

}  // namespace sluice::runtime
