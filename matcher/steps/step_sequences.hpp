#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dataset_table.hpp"
#include "file_rules.hpp"
#include "job_book.hpp"
#include "repeated_opens.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"
#include "sluice/matcher/status_report.hpp"
#include "stream_places.hpp"

namespace sluice::matcher {

/// The published steps in order of publication: of a rule, or of one name where the rule is a stream. Each
/// reader has its own way through them: docs/steps.md.
class StepSequences {
 public:
  StepSequences(const FileRules& rules, const ProcessTable& processes, const JobBook& jobs);

  /// Numbers go on behind these steps.
  void go_on(const FormerCount& former);
  /// The step is published: gives it its numbers, unless it has them from a former run. Returns steps that a
  /// reader needs no longer.
  [[nodiscard]] std::vector<Step*> note_published(Step& step);
  /// The group has the step now.
  void note_taken(Step& step, const Group& group);
  /// Another member of the group has arrived.
  void note_joined(const Group& group, ProcessId process);
  /// The component starts again, and what it has not read stays for it (ReaderBook::note_restart): in a
  /// stream it goes on with the first step of that kind.
  void note_restart(const Component& component);
  /// The process has ended, and opens no step again. The finding is of commands that end alike.
  [[nodiscard]] std::optional<CommandSteps::Finding> forget(const Component& component, ProcessId process);
  /// The step ends.
  void erase(const Step& step, Dataset& dataset);

  /// The step that an open of the group gets; null: there is none yet.
  [[nodiscard]] Step* next_for(const Group& group) const;
  /// The step before it in a stream, which its readers may have gone past now; null: there is none.
  [[nodiscard]] Step* before(const Step& step) const;
  /// Whether the reader has gone past the step of a stream, and how certainly: Claim::needed if it has not.
  [[nodiscard]] Claim claim_of_place(const Step& step, const Component& component) const;
  /// Whether the member of the group, or any process of the component, is to open the step of a stream again
  /// (`opens-per-step`).
  [[nodiscard]] bool is_to_open_again(const Step& step, const Group& group, ProcessId process) const {
    return opens_.is_to_open_again(group, process, step.number);
  }
  [[nodiscard]] bool is_to_open_again(const Step& step, const Component& component) const {
    return component.opens_per_step > 1 && opens_.is_wanted({step.key, step.number}, &component);
  }
  /// Whether the component has ever taken a step of the rule.
  [[nodiscard]] bool has_taken_any(std::uint32_t rule, const std::string& component) const;

  /// Whether as many steps are unread as FileRule::queue allows.
  [[nodiscard]] bool is_full(const DatasetKey& key);
  /// The queue is too long (when-full: discard): the oldest unread step that nobody has open, which the
  /// readers that have not read it have to do without now. Null when there is none.
  [[nodiscard]] Step* discard_oldest(const DatasetKey& key);
  /// The unread steps that fill the queue, oldest first.
  [[nodiscard]] std::vector<const Step*> unread(const DatasetKey& key) const;
  /// Whether the reader has still to read the step.
  [[nodiscard]] bool is_unread_by(const Step& step, std::size_t reader) const;

  /// Why the reader cannot have the file any more; empty: for no reason of its mode or of the queue.
  [[nodiscard]] std::string passed_text(const DatasetKey& key, const Dataset& dataset,
                                        const std::string& reader) const;
  /// Adds to each rule how far its readers are.
  void report(std::vector<RuleStatus>& rules) const;

 private:
  struct Sequence {
    std::uint64_t last = 0;                 ///< the largest number of a published step
    std::map<std::uint64_t, Step*> live;    ///< by number
    std::map<std::uint64_t, Step*> unread;  ///< with a queue; those that have been read go when they are met
  };
  struct Counts {
    std::uint64_t taken = 0;
    std::uint64_t skipped = 0;
  };

  [[nodiscard]] DatasetKey sequence_key(const DatasetKey& key) const;
  [[nodiscard]] const Sequence* find(const DatasetKey& key) const;
  [[nodiscard]] bool is_unread(const Step& step) const;
  [[nodiscard]] bool has_unread(Sequence& sequence, std::size_t number) const;
  bool pass_by_mode(Step& step, std::size_t reader);

  const FileRules& rules_;
  const ProcessTable& processes_;
  const JobBook& jobs_;
  StreamPlaces places_;
  RepeatedOpens opens_;
  CommandSteps commands_;
  std::map<DatasetKey, Sequence> sequences_;  ///< that of a rule has no name
  std::vector<std::uint64_t> published_;      ///< by rule
  std::vector<std::vector<Counts>> counts_;   ///< by rule and reader
};

}  // namespace sluice::matcher
