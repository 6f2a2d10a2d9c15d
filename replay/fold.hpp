#pragma once
#include "sluice/replay/plan.hpp"

namespace sluice::replay {

/// Replaces successive copies of the same shape and regular distance by one copy with one more dimension.
/// Elements become rows, and rows become boxes. The order of elements does not change.
[[nodiscard]] Plan fold(Plan plan);

}  // namespace sluice::replay
