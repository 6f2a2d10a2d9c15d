#pragma once
// Tells what the run does now. The cost goes with what is open or waiting now:
// docs/design/watching-a-run.md.
#include "sluice/matcher/run_view.hpp"
#include "wait_texts.hpp"

namespace sluice::matcher {

struct RegistryParts;

[[nodiscard]] RunView run_view(const RegistryParts& parts, const WatchRequest& request);

}  // namespace sluice::matcher
