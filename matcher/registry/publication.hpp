#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "memory_waits.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// The visible part of a step while it is written, and the end of a step: complete, cut off, or discarded.
/// docs/design/reading.md.
class Publication {
 public:
  explicit Publication(RegistryParts& parts) : parts_(parts) {}

  void set_header(Step& step, HeaderRequest request);
  /// A writer has closed the step, and reports its puts. Returns what counts as its use.
  FileUse note_closed(GroupMembership writer, PublishRequest&& request);
  /// A writer has called ncmpi_sync. Returns true for the last writer: readers then see the puts of all
  /// writers.
  bool sync(GroupMembership writer, const SyncPoint& point);

  /// All writers have closed the step.
  void complete(Step& step);
  /// All processes of the group have finished with the step.
  void end_written(Step& step);
  /// The step, of a former run, is published again.
  void restore(Step& step);
  /// The step ends before its writers have closed it. It keeps the part that readers could see, or it is
  /// discarded.
  void end_unfinished(Step& step, const std::string& reason);
  /// The same, because a writer has ended.
  void end_by_death(Step& step, const std::string& reason);
  /// The same: what the writer has written cannot be published.
  void lose(Step& step, const std::string& reason);
  /// Counts a step that is lost.
  void note_lost(Component& writer, const LostStep& lost);
  /// The writer is started again: what it had not published is gone, and not lost.
  void forget_lost(const Component& writer);
  /// The name was removed. Returns whether something was being written there: its writers go on without it.
  bool take_name(const DatasetKey& key);
  /// The step was not begun: the file is unchanged.
  void withdraw(Step& step);

 private:
  [[nodiscard]] bool is_written_on(const Step& step) const;
  void keep(Step& step);
  void forget_replaced(const Step& step);
  void publish_synced(Step& step);
  static void take_ranges(const Step& step, std::uint32_t rank, LogRanges& ranges);
  static void close(WriteLog& log, PublishRequest&& request);
  void close_logs(Step& step);
  void cut(Step& step, const std::string& reason);
  void discard(Step& step, const std::string& reason);
  void number(Step& step);
  void shorten_queue(const DatasetKey& key);

  RegistryParts& parts_;
  std::set<std::uint32_t> shortened_;  ///< rules of which the run has been told that steps are discarded
};

}  // namespace sluice::matcher
