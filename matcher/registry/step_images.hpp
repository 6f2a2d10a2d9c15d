#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "memory_waits.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// The images of steps, for programs that read files by the C library: one a node, which counts as staging
/// memory. docs/design/files-by-any-program.md.
class StepImages {
 public:
  explicit StepImages(RegistryParts& parts) : parts_(parts) {}

  /// As in Registry; they return whether somebody waits for memory now.
  [[nodiscard]] bool ask(const Ticket& ticket, const Process& process, StepId id);
  [[nodiscard]] bool note_made(StepId id, SegmentId file, const DrainOutcome& outcome);
  /// The step is published: answers who has waited for that, and makes its images on the nodes that have
  /// asked for one of the rule's last step, where there is memory. They are to ask again.
  void note_published(Step& step);

 private:
  [[nodiscard]] bool begin(Step& step, MatcherPlace place, const StepImage::Reader* reader);
  void answer_waiting(const Step& step);
  void refuse(Step& step, std::uint32_t node, int status, const std::string& text);

  RegistryParts& parts_;
  std::map<std::uint32_t, std::set<MatcherPlace>> asked_by_;  ///< by rule: matchers, since the last step
};

}  // namespace sluice::matcher
