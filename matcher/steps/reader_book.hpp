#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dataset_table.hpp"
#include "file_rules.hpp"
#include "job_book.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/process_table.hpp"
#include "step_sequences.hpp"

namespace sluice::matcher {

/// Records which readers have read which steps, and which may still ask for one:
/// docs/design/consumed-steps.md.
class ReaderBook {
 public:
  ReaderBook(const FileRules& rules, const ProcessTable& processes, const DatasetTable& datasets,
             const JobBook& jobs, const StepSequences& sequences);

  /// All processes of the group have closed the step.
  void note_read(Step& step, const Group& group);
  /// Whether the component has read the published step to its end, as far as is known. A process that died
  /// with the step open has not.
  [[nodiscard]] bool has_read(const Step& step, const Component& component) const;
  /// The step is complete. A process that closed it earlier may have seen all of it, and then is not expected
  /// again. When every put is visible at once, a reader waits for the data that it needs: it has finished
  /// when it closes.
  static void note_early_readers(Step& step);
  /// The step is no more.
  void forget(StepId step);
  /// A file of the rule was opened for writing again. Returns false when this was known.
  bool note_continued(std::uint32_t rule);

  /// The component is started again: it needs the step, unless all its processes had closed it. When their
  /// number is not known, those that have closed it may have been all. Returns whether the component reads
  /// the step.
  bool note_restart(Step& step, const Component& component) const;
  /// The writer, started again, creates a file that it had published before: who had read it need not come
  /// back.
  void note_created_again(Step& step, const Component& writer) const;

  /// The strongest claim of any reader. A file that was opened for writing again may be opened once more.
  [[nodiscard]] Claim claim_on(const Step& step) const;
  /// A process that has closed the step, or has ended, no longer claims the step. When the number of a
  /// component's processes is unknown, it may start another process until it exits.
  [[nodiscard]] Claim claim_of_reader(const Step& step, std::size_t reader) const;
  /// Whether a reader has not read the step, and has not ended well.
  [[nodiscard]] bool is_left_unread(const Step& step) const;
  /// Whether nobody is likely to ask for the step. Of each reader whose number of processes is unknown, as
  /// many processes have read it as have read any step of the rule, and none has just come. Or none of the
  /// others can ask for it now: all wait for something else. They may ask later, as new processes may.
  [[nodiscard]] bool is_given_up(const Step& step) const;
  /// The first reader of the step whose number of processes is unknown, or empty.
  [[nodiscard]] std::string unknown_reader(const Step& step) const;
  /// Whether some processes of a reader have not read the step, although that many processes have read
  /// another step of the rule.
  [[nodiscard]] bool is_partly_read(const Step& step) const;
  /// Whether the claim on the published step may change when a process of the component connects or ends.
  [[nodiscard]] bool may_change_claim(const Step& step, const Component& component) const;
  /// Whether all processes of all readers of the rule have ended.
  [[nodiscard]] bool have_readers_ended(std::uint32_t rule) const;

 private:
  [[nodiscard]] bool is_given_up_by(const Step& step, std::size_t reader) const;
  [[nodiscard]] bool is_given_up_by_lookers(const Component& component) const;
  [[nodiscard]] bool has_ended(const std::string& reader) const;

  const FileRules& rules_;
  const ProcessTable& processes_;
  const DatasetTable& datasets_;
  const JobBook& jobs_;
  const StepSequences& sequences_;
  /// by rule and reader: processes that have read one step
  std::vector<std::vector<std::size_t>> most_processes_;
  /// Readers of which a process has asked for facts of the file, as `stat` does.
  std::map<StepId, std::set<std::size_t>> looked_at_;
  std::vector<bool> is_continued_rule_;  ///< by rule: a file was opened for writing again
};

}  // namespace sluice::matcher
