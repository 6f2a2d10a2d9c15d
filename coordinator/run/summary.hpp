#pragma once
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "exit_status.hpp"
#include "sluice/runtime/protocol.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The jobs of a component with `for-each`.
struct JobFigures {
  std::uint64_t begun = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;   ///< for good
  std::uint64_t retried = 0;  ///< starts after a failure
  std::uint64_t skipped = 0;  ///< files that had no job

  /// "40 jobs, 2 of them failed; 3 files were skipped".
  [[nodiscard]] std::string describe() const;
};

/// The outcome of a component.
struct ComponentOutcome {
  std::string name;
  int ranks = 0;
  std::optional<ProcessEnd> end;  ///< empty: the component was never started; of jobs: the first failure
  std::string problem;            ///< why the component could not be started; otherwise empty
  std::chrono::milliseconds duration{0};
  int starts = 1;
  bool had_ended = false;               ///< before the run was resumed
  std::string ensemble = {};            ///< whose member it is; empty: none
  std::optional<JobFigures> jobs = {};  ///< of a component with `for-each`
};

/// What the matchers have told last, for a run whose matchers have ended without their final figures.
struct LastFigures {
  std::vector<matcher::RuleView> rules;
  std::vector<matcher::RuleUse> uses;
  std::uint64_t time_ms = 0;  ///< since the components' start
};

/// The outcome of a run.
struct RunOutcome {
  std::vector<ComponentOutcome> components;
  std::string first_failed;  ///< the component that failed first; empty if no component failed
  std::string stopped_by;    ///< the component whose failure stopped the run (on-failure: stop); empty: none
  std::string stopped_for;  ///< why all components were stopped in order, to be resumed; empty: they were not
  int interrupted_by = 0;   ///< the signal that ended the run; 0: none
  std::chrono::milliseconds notice_after{0};  ///< RunOptions::notice_after
  std::vector<std::string> stopped = {};      ///< the components that had not ended when the run was stopped
  std::string runtime_failure;
  std::string lost_output;  ///< why output could not be written (Console::failure); empty if all was written
  std::optional<runtime::StatusReport> report;  ///< the matcher's final figures
  std::optional<LastFigures> last;  ///< when there is no report, and the matchers were asked before
  std::chrono::milliseconds duration{0};
  std::time_t began = 0;        ///< seconds since 1970
  std::int64_t began_ns = 0;    ///< the same, in nanoseconds
  std::string spill_directory;  ///< the directory for data that did not fit in memory

  /// The number of files of coupled data that should have been written, and could not be.
  [[nodiscard]] std::size_t missing_files() const noexcept;
  /// The number of steps that were not closed when their writers ended.
  [[nodiscard]] std::uint64_t lost_steps() const noexcept;
  /// Exit status of `sluice run`.
  [[nodiscard]] int exit_status() const;
};

/// The table at the end of a run: files, components, memory, and the meaning of the exit status.
[[nodiscard]] std::string summarize(const workflows::Workflow& workflow, const RunOutcome& outcome);

/// "finished", or why the run failed, with the exit status.
[[nodiscard]] std::string describe_end(const RunOutcome& outcome);

/// The work of a matcher, for the log: "matcher 1 (node 0): 120 requests; relay: 40 packets sent (3.1 KiB),
/// …".
[[nodiscard]] std::string describe_matcher(const runtime::MatcherStatus& matcher);

}  // namespace sluice::coordinator
