#pragma once
#include <span>
#include <string>
#include <vector>

#include "summary.hpp"

namespace sluice::coordinator {

/// The rows of an ensemble in the table of components: one for all members, and one for each of the first
/// members that failed. `members`: at least one.
[[nodiscard]] std::vector<std::vector<std::string>> ensemble_rows(std::span<const ComponentOutcome> members,
                                                                  const std::string& first_failed);

/// How a component has ended, for its row.
[[nodiscard]] std::string end_text(const ComponentOutcome& component, const std::string& first_failed);

}  // namespace sluice::coordinator
