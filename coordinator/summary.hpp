#pragma once
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "exit_status.hpp"
#include "sluice/runtime/protocol.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// What became of a component.
struct ComponentOutcome {
  std::string name;
  int ranks = 0;
  std::optional<ProcessEnd> end;  ///< empty: it was never started
  std::string problem;            ///< why it could not be started; else empty
  std::chrono::milliseconds duration{0};
};

/// A run that has ended.
struct RunOutcome {
  std::vector<ComponentOutcome> components;
  std::string first_failed;  ///< the component that failed first; empty when none did
  int interrupted_by = 0;    ///< the signal that ended the run; 0: none
  std::string runtime_failure;
  std::string lost_output;  ///< why output could not be written (Console::failure); empty: it was
  std::optional<runtime::StatusReport> report;  ///< the matcher's final figures
  std::chrono::milliseconds duration{0};
  std::time_t began = 0;        ///< since 1970
  std::string spill_directory;  ///< where what found no room in memory went

  /// Files that were to be written of coupled data, and could not be.
  [[nodiscard]] std::size_t missing_files() const noexcept;
  /// Steps whose writers ended before they had closed them.
  [[nodiscard]] std::uint64_t lost_steps() const noexcept;
  /// Exit status of `sluice run`.
  [[nodiscard]] int exit_status() const;
};

/// The table that ends a run: files, components, memory, and what the exit status means.
[[nodiscard]] std::string summarize(const workflows::Workflow& workflow, const RunOutcome& outcome);

/// What a matcher did, for the log: "matcher 1 (node 0): 120 requests; relay: 40 packets sent (3.1 KiB), …".
[[nodiscard]] std::string describe_matcher(const runtime::MatcherStatus& matcher);

}  // namespace sluice::coordinator
