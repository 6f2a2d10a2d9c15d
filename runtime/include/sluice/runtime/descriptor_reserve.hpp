#pragma once
#include <cstddef>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Descriptors that are kept free for those that messages bring: what came with a message for which there is
/// none is lost. One thread at a time.
class DescriptorReserve {
 public:
  /// Keeps so many free, as duplicates of `model`, which outlives this. Throws Error(NC_ENFILE), with what to
  /// do about it.
  DescriptorReserve(std::size_t wanted, int model);

  /// Lets one go, for a message that is received now. False where there is none: other threads have taken
  /// all that were left.
  [[nodiscard]] bool release_one() noexcept;
  /// Takes one again. False where none is free.
  bool take_one() noexcept;

 private:
  int model_;
  std::vector<FileDescriptor> kept_;
};

}  // namespace sluice::runtime
