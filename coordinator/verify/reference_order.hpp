#pragma once
#include <string>
#include <vector>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// How `sluice verify` runs a workflow through files.
struct ReferenceOrder {
  /// Names in the workflow file, each writer before its readers. Empty: all components at once, with opens
  /// that wait.
  std::vector<std::string> components;
  std::string reason;  ///< why not one after the other: "the components read each other's files"
};

[[nodiscard]] ReferenceOrder order_for_reference(const workflows::Workflow& workflow);

}  // namespace sluice::coordinator
