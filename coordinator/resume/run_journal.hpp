#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/runtime/rules.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

inline constexpr const char* journal_file = "journal.tsv";
inline constexpr const char* step_record_file = "steps.tsv";

/// What a run says of itself in its log directory, for a run that goes on where it ended:
/// docs/formats/step-record.md. A disk that is full ends the journal and not the run.
class RunJournal {
 public:
  /// Creates the file and locks it while this object lives. `resumes`: how often the workflow was resumed
  /// before this run and with it. `nodes`: JobNodes::names. Throws IoError.
  RunJournal(const std::filesystem::path& log_directory, const workflows::Workflow& workflow,
             const runtime::RunIdentity& run, int resumes, const std::vector<std::string>& nodes);

  /// The components are being started.
  void note_start() { add("started"); }
  /// The component has ended with status 0.
  void note_end_of(const std::string& component);
  /// Components are asked to end: how they end says nothing of their work from now on.
  void note_stop();
  /// The most memory that a node has had staged.
  void note_memory(std::uint64_t peak_bytes) { add("memory\t" + std::to_string(peak_bytes)); }
  void note_end(int status);

 private:
  void add(std::string_view line);
  void sync() noexcept;

  std::unique_ptr<storage::File> file_;
  std::int64_t size_bytes_ = 0;
  bool is_stopping_ = false;
};

/// A run that has ended, by its journal.
struct FormerRun {
  struct Rule {
    std::string pattern;
    std::string writer;
    bool operator==(const Rule&) const = default;
  };
  /// The machine of `sluice run`, and an identity of its last start.
  struct Machine {
    std::string name;
    std::string start;
  };
  std::filesystem::path log_directory;
  std::string name;
  runtime::RunIdentity run;
  Machine machine;
  std::vector<std::string> nodes;  ///< JobNodes::names
  int resumes = 0;
  std::vector<Rule> rules;
  std::set<std::string> ended;   ///< components that ended with status 0, while the run went on
  std::uint64_t peak_bytes = 0;  ///< as RunJournal::note_memory(); 0: unknown
  std::optional<int> status;     ///< exit status; nothing: the run was killed
  bool has_started = false;
  bool has_record = false;  ///< of its steps
  bool goes_on = false;     ///< as far as logged_runs() has found

  [[nodiscard]] bool has_ended_well() const noexcept { return status == 0; }
  /// Whether it has done something, and has a record of it.
  [[nodiscard]] bool has_work() const noexcept {
    return !name.empty() && has_record && (has_started || resumes > 0);
  }
  [[nodiscard]] bool can_be_resumed() const noexcept { return has_work() && !has_ended_well() && !goes_on; }
  /// Whether the machine was started again since the run was killed: what the system had not written to its
  /// disks by itself may be missing.
  [[nodiscard]] bool was_cut_off() const;
};

/// The last run of the workflow that has started components, or has resumed another: in `log_directory` if
/// it is given, or else beside the workflow file. Throws Error(NC_ENOENT) if there is none, Error(NC_EINVAL)
/// if it still goes on after `patience`.
[[nodiscard]] FormerRun find_former_run(const workflows::Workflow& workflow,
                                        const std::filesystem::path& log_directory,
                                        std::chrono::milliseconds patience);

/// What the newest run of the workflow beside its file says by note_memory(); 0: unknown. `log_directory`: of
/// this run, which is not looked at.
[[nodiscard]] std::uint64_t former_peak(const workflows::Workflow& workflow,
                                        const std::filesystem::path& log_directory);

/// The runs with a log directory in `directory`, logs_beside() of a workflow, the oldest first; also those
/// that go on. One without a journal is known by its directory alone. Other directories are left out.
[[nodiscard]] std::vector<FormerRun> logged_runs(const std::filesystem::path& directory);

}  // namespace sluice::coordinator
