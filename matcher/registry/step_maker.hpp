#pragma once
// Makes steps for groups that write.
#include <memory>

#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Makes a step for the group. `base`: the step that was opened for writing again, if any. Returns null
/// when there is no memory for the control block.
[[nodiscard]] Step* make_step(RegistryParts& parts, Group& group, Step* base);
/// Makes the step that the group was offered.
[[nodiscard]] Step& make_step(RegistryParts& parts, Group& group, StepOffer offer);
/// Makes a step of a file that a former run has left.
[[nodiscard]] Step& restore_step(RegistryParts& parts, const FormerStep& former);

}  // namespace sluice::matcher
