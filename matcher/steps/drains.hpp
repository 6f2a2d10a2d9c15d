#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "burst_logs.hpp"
#include "dataset_names.hpp"
#include "dataset_table.hpp"
#include "file_rules.hpp"
#include "run_history.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

/// Steps that are written to files on disk: docs/design/files-on-disk.md. Drains run one after the
/// other, so that each has the whole bandwidth, and its memory becomes free sooner.
class Drains {
 public:
  struct Parts {
    RegistryAnswers& answers;
    const FileRules& rules;
    DatasetTable& datasets;
    const DatasetNames& names;
    BurstLogs& logs;
    RunHistory& history;
  };
  explicit Drains(const Parts& parts) : parts_(parts) {}

  /// The step is complete. It contains everything of an earlier step of the same name. The drain of that step
  /// is dropped unless it has begun.
  void want(Step& step);
  /// The dataset was removed: the state of its file is unknown.
  void forget(const DatasetKey& key);
  void start_next();
  /// Notes the progress of the active drain. Reports of others are ignored.
  void note(StepId step, const DrainProgress& progress);
  /// The drain has ended, with or without success. Returns its step; null: it was not the active drain.
  Step* end(StepId id, const DrainOutcome& outcome);
  /// Answers when no drain of the dataset is active. The asker then removes the file, and a drain must not
  /// write it again.
  void answer_removal(const Ticket& ticket, const DatasetKey& key);
  /// Of files that have not been removed since.
  [[nodiscard]] std::vector<std::string> failures() const;
  [[nodiscard]] std::optional<DrainStatus> active() const;
  /// The number of steps that wait to be written.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  struct ActiveDrain {
    StepId step = 0;  ///< 0: none
    DrainProgress progress;
    std::uint64_t began_ms = 0;
  };
  /// The contents of a file.
  struct DrainedFile {
    StepId origin = 0;  ///< Step::origin; 0: not known
    std::vector<TablePosition> logs;
    std::int64_t records = 0;
  };

  struct Failure {
    DatasetKey key;
    std::string text;
  };

  void drop_waiting(const DatasetKey& key);
  [[nodiscard]] bool is_active(const DatasetKey& key) const;
  void note_failure(const Step& step, const std::string& trouble);
  void note_contents(const Step& step, const DrainOutcome& outcome);

  Parts parts_;
  std::list<Step*> waiting_;  ///< in the order of their publication
  ActiveDrain active_;
  std::map<DatasetKey, DrainedFile> drained_;
  std::vector<Ticket> waiting_removals_;  ///< for the dataset that is being drained
  std::vector<Failure> failures_;
};

}  // namespace sluice::matcher
