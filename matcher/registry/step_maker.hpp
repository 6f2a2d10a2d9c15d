#pragma once
#include <cstdint>
#include <memory>

#include "dataset_names.hpp"
#include "dataset_table.hpp"
#include "file_rules.hpp"
#include "retention.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"
#include "staging_memory.hpp"

namespace sluice::matcher {

/// Makes steps for groups that write.
class StepMaker {
 public:
  struct Parts {
    const FileRules& rules;
    ProcessTable& processes;
    DatasetTable& datasets;
    const DatasetNames& names;
    Retention& retention;
    StagingMemory& memory;
    StepSequences& sequences;
    ReadOffers& reads;
    PackingChoice packing;
  };
  explicit StepMaker(const Parts& parts) : parts_(parts) {}

  /// Makes a step for the group. `base`: the step that was opened for writing again, if any. Returns null
  /// when there is no memory for the control block.
  [[nodiscard]] Step* make(Group& group, Step* base);
  /// Makes the step that the group was offered.
  [[nodiscard]] Step& make(Group& group, StepOffer offer);
  /// Makes a step of a file that a former run has left.
  [[nodiscard]] Step& restore(const FormerStep& former);

 private:
  Step& add(std::unique_ptr<Step> step, Group& group, const Step* base);
  void add_own_logs(Step& step, const Group& group) const;
  [[nodiscard]] bool has_packed_logs(const Step& step, const Group& group) const;
  void continue_logs(Step& step, const Step& base, const Group& group);

  Parts parts_;
};

}  // namespace sluice::matcher
