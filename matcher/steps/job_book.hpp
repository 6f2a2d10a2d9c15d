#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

/// The jobs of a component, by the steps that they are for.
struct Jobs {
  JobReader reader;
  std::set<StepId> waiting;  ///< their jobs have not begun
  std::set<StepId> running;

  /// Whether the step's job has not ended.
  [[nodiscard]] bool await(StepId step) const { return waiting.contains(step) || running.contains(step); }
  [[nodiscard]] bool are_all_done() const noexcept { return waiting.empty() && running.empty(); }
  /// Whether the coordinator starts a job now.
  [[nodiscard]] bool is_about_to_start() const noexcept {
    return !waiting.empty() && running.size() < reader.at_most;
  }
  /// Processes of the running jobs.
  [[nodiscard]] std::size_t least_processes() const noexcept { return running.size() * reader.processes; }
};

/// The components that are started once for each published file of a rule, and their jobs:
/// docs/design/components.md.
class JobBook {
 public:
  explicit JobBook(std::vector<JobReader> readers);

  /// Returns the components that want a job for the step.
  [[nodiscard]] std::vector<std::string> note_published(const Step& step);
  void begin(std::string_view component, StepId step);
  void end(std::string_view component, StepId step);

  /// The jobs of the component; null: it is a component as others are.
  [[nodiscard]] const Jobs* find(std::string_view component) const;
  /// The same; null also where its jobs are for files of another rule.
  [[nodiscard]] const Jobs* find(std::string_view component, std::uint32_t rule) const;

 private:
  std::map<std::string, Jobs, std::less<>> jobs_;
};

}  // namespace sluice::matcher
