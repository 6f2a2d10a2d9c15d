#pragma once
#include <cstddef>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// File descriptors that are kept free for descriptors in messages: a descriptor in a message is lost when
/// the process has no number left for it. One thread at a time.
class DescriptorReserve {
 public:
  /// Keeps `wanted` descriptors free, as duplicates of `model`, which outlives this object. Throws
  /// Error(NC_ENFILE) with advice.
  DescriptorReserve(std::size_t wanted, int model);

  /// Frees one descriptor for the message that is received now. Returns false when none is left, because
  /// other threads have taken all.
  [[nodiscard]] bool release_one() noexcept;
  /// Takes a descriptor again. Returns false when none is free.
  bool take_one() noexcept;

 private:
  int model_;
  std::vector<FileDescriptor> kept_;
};

}  // namespace sluice::runtime
