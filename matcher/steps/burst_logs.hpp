#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataset_names.hpp"
#include "dataset_table.hpp"
#include "file_rules.hpp"
#include "node_pools.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

/// Data in burst-buffer logs on disk (through: burst-buffer), and the logs that keep their names:
/// docs/design/burst-buffer-logs.md.
class BurstLogs {
 public:
  struct Parts {
    RegistryAnswers& answers;
    const FileRules& rules;
    NodePools& pools;
    DatasetTable& datasets;
    const DatasetNames& names;
  };
  explicit BurstLogs(const Parts& parts) : parts_(parts) {}

  /// Grants a part of the process's log. The process has reserved the disk space itself, so there is no wait.
  void grant(const Ticket& ticket, const Process& process, const SegmentRequest& request);
  /// The data in the step's logs will not reach its file: `sluice recover` needs these logs, and the logs of
  /// the steps that this one continues.
  void keep(const Step& step);
  /// Calls keep() for all steps that have not reached their files, and for those that `is_left` names.
  void keep_unfinished(const std::function<bool(const Step&)>& is_left);
  /// The step has reached the file, so the logs of earlier steps are not needed any more.
  void let_go(const Step& drained);
  /// The step is gone, because its writer is started again: its logs are not needed.
  void forget(const LostStep& lost);
  void report(StatusReport& report) const;

 private:
  /// A log that keeps its names: one of its segments, and its step.
  struct KeptLog {
    StepId step = 0;
    SegmentId segment = 0;
  };
  struct Kept {
    std::vector<KeptLog> logs;
    std::string directory;  ///< directory of the last of them
  };

  template <class Condition>
  void let_go_if(const DatasetKey& key, const Condition& is_concerned);

  Parts parts_;
  std::map<DatasetKey, Kept> kept_;
};

}  // namespace sluice::matcher
