#pragma once
#include <memory>

#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Makes steps for groups that write.
class StepMaker {
 public:
  explicit StepMaker(RegistryParts& parts) : parts_(parts) {}

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

  RegistryParts& parts_;
};

}  // namespace sluice::matcher
