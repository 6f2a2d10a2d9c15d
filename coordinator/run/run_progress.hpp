#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/runtime/protocol.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The jobs of a component with `for-each` now.
struct JobStage {
  std::uint64_t over = 0;  ///< have ended, or their files were skipped
  std::uint64_t failed = 0;
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;    ///< files that will have a job
  bool are_files_over = false;  ///< no other file follows
};

/// What a component does now, as the coordinator knows it from its processes.
struct ComponentStage {
  enum class Kind { not_started, running, restarts, ended };
  Kind kind = Kind::not_started;
  bool has_failed = false;  ///< it has ended
  std::string how = {};     ///< it has ended
  std::optional<JobStage> jobs = {};
};

/// One line of the progress: a component, or all members of an ensemble.
struct ProgressRow {
  enum class State { not_started, computing, waiting, restarting, ended };
  std::string name;
  State state = State::not_started;
  std::string text;           ///< "computes", "waits 2 s for 'b.nc' from model"
  std::string unit = "step";  ///< what is counted: step, job, member
  std::uint64_t done = 0;  ///< steps that were published, or taken by a reader; jobs, members that are over
  std::optional<std::uint64_t> all = {};  ///< nothing: nobody knows
  double per_second = 0;
  double bytes_per_second = 0;
  std::optional<std::chrono::milliseconds> left = {};  ///< until `all` are done, at this rate
  std::uint64_t running = 0, failed = 0;               ///< jobs, members
  std::string waits_for = {};
  std::uint64_t waits_ms = 0;
};

/// The progress of a run whose components are running.
struct ProgressReport {
  std::chrono::milliseconds since_start{0};
  std::vector<ProgressRow> rows;                                     ///< in the order of the workflow file
  std::uint64_t used_bytes = 0, limit_bytes = 0, spilled_bytes = 0;  ///< of all nodes
  std::uint64_t put_bytes = 0, get_bytes = 0;
  std::uint64_t opened_bytes = 0;  ///< the sizes of files that were opened by the C library
};

/// Makes the progress report of views that follow one another.
class RunProgress {
 public:
  /// The workflow outlives this object.
  explicit RunProgress(const workflows::Workflow& workflow) : workflow_(workflow) {}
  /// `stages`: by component, as in the workflow.
  [[nodiscard]] ProgressReport report(const runtime::RunView& view, const std::vector<ComponentStage>& stages,
                                      std::chrono::milliseconds since_start);

 private:
  struct Sample {
    std::chrono::milliseconds time{0};
    std::uint64_t done = 0, bytes = 0;
  };
  void add_rates(ProgressRow& row, Sample now);

  const workflows::Workflow& workflow_;
  std::map<std::string, std::deque<Sample>> samples_;  ///< of the last seconds, by row
};

/// The lines of the table that is redrawn on a terminal: the time and the memory, and a line for each row.
[[nodiscard]] std::vector<std::string> progress_table(const ProgressReport& report);
/// The same on one line: "00:12  model 34 steps; analysis 33 steps, waits 2 s for 'b.nc' from model".
[[nodiscard]] std::string progress_line(const ProgressReport& report);
/// The same as one JSON object: docs/commands.md.
[[nodiscard]] std::string progress_as_json(const ProgressReport& report);
/// The object while files are written to disk, after the components have ended.
[[nodiscard]] std::string draining_as_json(const runtime::RunView& view,
                                           std::chrono::milliseconds since_start);
/// The last object of a run.
[[nodiscard]] std::string end_as_json(const std::string& verdict, int exit_status,
                                      std::chrono::milliseconds since_start);

}  // namespace sluice::coordinator
