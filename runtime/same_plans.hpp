#pragma once
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::runtime {

/// Whether plans that were made for steps of one pattern hold for those of the other: all of them, or those
/// for records from the base on.
[[nodiscard]] inline bool have_same_plans(const matcher::StepPattern& a,
                                          const matcher::StepPattern& b) noexcept {
  return a.whole == b.whole || (!b.latest.empty() && a.latest == b.latest);
}

}  // namespace sluice::runtime
