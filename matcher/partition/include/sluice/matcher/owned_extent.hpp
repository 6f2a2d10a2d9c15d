#pragma once
#include <cstdint>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/matcher/index_range.hpp"
#include "sluice/matcher/log_extent.hpp"
#include "sluice/matcher/step_partition.hpp"

namespace sluice::matcher {

/// The part of a step's variables that one matcher owns.
class OwnedExtent {
 public:
  OwnedExtent(const formats::Header& header, const StepPartition& partition, std::uint32_t owner);

  /// Whether a process with this extent may have put something in the owned part. True when unknown.
  [[nodiscard]] bool may_hold(const LogExtent& extent) const noexcept;

 private:
  /// A part of some variables.
  struct Part {
    std::uint64_t variables = 0;  ///< as in LogExtent
    int dimid = -1;               ///< the dimension along which the part is less than the whole; -1: none
    IndexRange range;
    [[nodiscard]] bool is_same_place(const Part& other) const noexcept {
      return dimid == other.dimid && range == other.range;
    }
  };
  std::vector<Part> parts_;
};

}  // namespace sluice::matcher
