#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/fingerprint.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/run_view.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

/// A reader that has gone past a step without opening it.
struct PassedBy {
  std::size_t reader = 0;   ///< its index in the rule
  bool is_by_mode = false;  ///< otherwise the queue was full
};

/// The state of one dataset key.
struct Dataset {
  Step* newest = nullptr;  ///< the newest published step
  std::vector<Step*> in_progress;
  bool is_recycled = false;           ///< the newest step was consumed and its memory reclaimed
  Claim claim = Claim::none;          ///< the claim on the newest step when its memory was reclaimed
  std::uint64_t number = 0;           ///< Step::number of the newest step whose memory was reclaimed
  std::vector<PassedBy> passed_by;    ///< the readers of that step
  std::vector<ProcessSet> had_read;   ///< by reader: processes that had closed it
  std::vector<std::size_t> taken_by;  ///< the readers that had opened it, by their index in the rule
  std::uint32_t closes = 0;           ///< of the newest step's file since it was new
  std::uint32_t steps_published = 0;
  std::uint32_t writer_restarts = 0;  ///< Component::restarts of the writer at the last publication
  std::uint64_t published_at_ms = 0;  ///< when the last step was published
  std::uint64_t publication = 0;      ///< the number of that publication among all of the run
  std::uint32_t steps_discarded = 0;
  std::uint32_t steps_lost = 0;  ///< DatasetStatus::steps_lost
  AccessCounters counters;
  std::uint64_t kept_bytes = 0;  ///< written to its file
  /// the file that has all of the newest step; it may exist longer than the step's memory
  std::string kept_path;
  std::uint8_t kept_version = 1;
  std::uint64_t bytes_spilled = 0;
  std::set<std::string> removed_by;  ///< readers that have removed the name since the last publication
  std::string written_path;  ///< identity: name: the one file that the writer may write under this key

  /// No process has done more than ask for it.
  [[nodiscard]] bool is_untouched() const noexcept {
    return steps_published + steps_discarded == 0 && in_progress.empty();
  }
  /// Somebody has written it, or writes it.
  [[nodiscard]] bool is_begun() const noexcept { return steps_published > 0 || !in_progress.empty(); }
  /// The memory of the newest step has gone, and its file has all of it.
  [[nodiscard]] bool is_only_on_disk() const noexcept {
    return newest == nullptr && is_recycled && !kept_path.empty();
  }
  /// Its steps have gone, and it is not being written.
  [[nodiscard]] bool is_past() const noexcept {
    return newest == nullptr && is_recycled && in_progress.empty();
  }
  /// The step that an open for reading finds while the step is still written; null: none. When readers can
  /// see part of a file that is being overwritten, they see the new contents.
  [[nodiscard]] Step* visible_in_progress() const;
  /// The component looks for the file in vain: it is lost where it was given up before that had read it.
  void note_missed_by(const std::string& component, const FileRule& rule);
  /// Whether the process, or any one, has closed a step that is still in progress: who has seen that expects
  /// the step.
  [[nodiscard]] bool is_closed_by(std::optional<ProcessId> process = {}) const;
};

/// The sum over datasets that have been folded.
struct FoldedSum {
  std::uint32_t files = 0;
  std::uint32_t steps_published = 0, steps_discarded = 0, steps_lost = 0;
  AccessCounters counters;
  std::uint64_t kept_bytes = 0, bytes_spilled = 0;
};

/// The datasets and their steps. A run may have millions of datasets whose steps have gone. Of the oldest of
/// these, only what an open has to know stays: they are folded. The first access to one unfolds it. Of the
/// folded ones, the oldest are forgotten.
class DatasetTable {
 public:
  /// `most_past`: datasets whose steps have gone are folded beyond this number. `least_folded`: so many
  /// folded ones are remembered, and at most twice as many.
  explicit DatasetTable(std::size_t most_past = 10'000, std::size_t least_folded = 200'000)
      : most_past_(most_past), least_folded_(least_folded) {}

  /// The dataset of the key; made when it does not exist.
  [[nodiscard]] Dataset& operator[](const DatasetKey& key);
  [[nodiscard]] const Dataset& at(const DatasetKey& key) const;
  /// Null when it does not exist.
  [[nodiscard]] const Dataset* find(const DatasetKey& key) const;
  /// All that are not folded.
  [[nodiscard]] const std::map<DatasetKey, Dataset>& all() const noexcept { return datasets_; }

  /// The newest step of the dataset has gone.
  void note_past(const DatasetKey& key) { past_.push_back(key); }
  /// Whether some are to be folded. Not at each new one, because folding costs a turn of the event loop.
  [[nodiscard]] bool has_past() const noexcept { return past_.size() > most_past_ + most_past_ / 64; }
  /// Folds the oldest past datasets beyond the limit; calls `forget` with each of them before. References to
  /// datasets become invalid, so nobody may hold one.
  void fold_past(const std::function<void(const DatasetKey&, const Dataset&)>& forget);
  [[nodiscard]] std::size_t most_past() const noexcept { return most_past_; }
  /// By rule.
  [[nodiscard]] const std::map<std::uint32_t, FoldedSum>& folded() const noexcept { return folded_sums_; }

  /// The number of a step that is to be made later.
  [[nodiscard]] StepId new_step() noexcept { return next_step_++; }
  /// The steps that are being written.
  [[nodiscard]] std::vector<const Step*> in_progress() const;
  /// Gives the step its id, unless it has one, and adds it to the steps in progress.
  Step& add(std::unique_ptr<Step> step);
  void erase(const Step& step) { steps_.erase(step.id); }
  /// The step must exist.
  [[nodiscard]] Step& step(StepId id) const { return *steps_.at(id); }
  /// Null when it does not exist.
  [[nodiscard]] Step* find_step(StepId id) const noexcept;
  /// Throws Error: NC_EBADID when the step does not exist, NC_EIO when it was discarded.
  [[nodiscard]] const Step& usable_step(StepId id) const;
  /// Process::reads, Process::writes and Process::closes; no group when there is no such step.
  [[nodiscard]] GroupMembership reader(const Process& process, StepId id) const noexcept;
  [[nodiscard]] GroupMembership writer(const Process& process, StepId id) const noexcept;
  [[nodiscard]] GroupMembership closing_reader(const Process& process, const ReadEnd& close) const noexcept;
  /// As writer(). Throws Error(NC_EINVAL) when the process is not writing the step.
  [[nodiscard]] GroupMembership must_write(const Process& process, StepId id) const;
  [[nodiscard]] const std::map<StepId, std::unique_ptr<Step>>& steps() const noexcept { return steps_; }

  /// Adds what a process of the component has put and got.
  void count(const DatasetKey& key, const std::string& component, const AccessCounters& counters);
  void note_published(const DatasetKey& key);
  void note_discarded(const DatasetKey& key);
  [[nodiscard]] RuleTotals totals_of(std::uint32_t rule) const;
  /// What components have put and got, by rule.
  [[nodiscard]] std::vector<RuleUse> uses() const;

  /// Whether the step's file has the whole step.
  [[nodiscard]] bool is_on_disk(const Step& step) const;
  /// Bytes in memory. A step counts together with the steps that continue it.
  [[nodiscard]] std::map<DatasetKey, std::uint64_t> staged_bytes() const;

 private:
  /// A dataset that is folded.
  struct Folded {
    std::uint64_t number = 0;
    std::uint32_t steps_published = 0;
    std::uint32_t writer_restarts = 0;
    Claim claim = Claim::none;
    bool is_kept = false;  ///< its file, which has its name, has all of it
    std::uint8_t kept_version = 1;
    std::vector<PassedBy> passed_by;
  };
  [[nodiscard]] Dataset* unfold(const DatasetKey& key) const;
  void fold(const DatasetKey& key, Dataset& dataset);

  std::size_t most_past_;
  std::size_t least_folded_;
  // Looking at a dataset may unfold it.
  mutable std::map<DatasetKey, Dataset> datasets_;
  mutable std::deque<DatasetKey> past_;  ///< oldest first; some are not past any more, or named twice
  using FoldedDatasets = std::unordered_map<Fingerprint, Folded, FingerprintHash>;
  mutable std::array<FoldedDatasets, 2> folded_;            ///< the younger ones, and the older ones
  mutable std::map<std::uint32_t, FoldedSum> folded_sums_;  ///< by rule
  /// What count() has added to last: many processes of a component close one file. Empty when a dataset was
  /// folded since.
  struct LastCount {
    DatasetKey key;
    std::string component;
    Dataset* dataset = nullptr;
    AccessCounters* use = nullptr;
  };
  LastCount last_count_;
  std::map<StepId, std::unique_ptr<Step>> steps_;
  StepId next_step_ = 1;
  struct UseOf {
    std::uint32_t rule = 0;
    std::string component;
    auto operator<=>(const UseOf&) const = default;
  };
  std::map<std::uint32_t, RuleTotals> totals_;  ///< by rule
  std::map<UseOf, AccessCounters> uses_;
};

}  // namespace sluice::matcher
