#pragma once
#include "sluice/matcher/run_view.hpp"
#include "wait_texts.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Tells what the run does now. The cost goes with what is open or waiting now:
/// docs/design/watching-a-run.md.
class RunViews {
 public:
  explicit RunViews(const RegistryParts& parts) : parts_(parts) {}

  [[nodiscard]] RunView view(const WatchRequest& request) const;

 private:
  void add_components(RunView& view) const;
  void add_rules(RunView& view) const;
  void add_files(RunView& view) const;
  void add_drains(RunView& view) const;
  [[nodiscard]] FileView view_of(const Step& step) const;

  const RegistryParts& parts_;
};

}  // namespace sluice::matcher
