#pragma once
#include "sluice/replay/plan.hpp"

namespace sluice::replay {

/// The same plan with copies of the same shape that follow each other at regular distances made one copy with
/// one more dimension: elements become rows, rows become boxes. The order of elements stays.
[[nodiscard]] Plan fold(Plan plan);

}  // namespace sluice::replay
