#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sluice/workflows/workflow.hpp"
#include "value_records.hpp"
#include "workflow_copy.hpp"

namespace sluice::coordinator {

/// One of the two runs of `sluice verify`.
struct VerifiedRun {
  int status = 0;         ///< exit status of the first `sluice run` that failed; 0: none did
  std::string component;  ///< that failed, when it ran by itself
  std::chrono::milliseconds time{};
  std::vector<std::string> times;  ///< "model 8.1 s", where each component ran by itself
};

/// A workflow file that takes the place of the user's one.
struct FlowVariant {
  std::string text;
  std::string component = {};  ///< the only one that it starts; empty: it starts all
  bool passes_files = false;   ///< `sluice run --through-files`
};

/// Runs the variants one after the other in the copy. Stops at the first failure. `sluice`: the program.
[[nodiscard]] VerifiedRun run_variants(const WorkflowCopy& copy, const std::vector<FlowVariant>& variants,
                                       const workflows::Workflow& workflow,
                                       const std::filesystem::path& sluice);

/// Whether readers see the rule's files while they are written.
[[nodiscard]] bool is_followed(const workflows::FileRule& rule) noexcept;

/// What the comparison of two runs has found.
struct Verdict {
  std::uint64_t equal_files = 0;
  std::uint64_t equal_bytes = 0;
  std::vector<std::string> left_out;  ///< files in a layout of Sluice's, which are not compared
  std::vector<std::string> differences;
  std::vector<std::string> remarks;
  std::vector<std::string> undecided;  ///< what differs, and follows from what a reader takes by time
  std::vector<std::string> unproven;   ///< "what analysis reads of 'x.nc' while model writes it"
  ReadComparison gets;
  ReadComparison reads;  ///< by the C library
};

/// Compares what two runs have written and read.
[[nodiscard]] Verdict compare_runs(const WorkflowCopy& first, const WorkflowCopy& second,
                                   const workflows::Workflow& workflow);

}  // namespace sluice::coordinator
