// Steps whose data is in files: docs/architecture.md, "Through files".
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

bool Registry::is_in_files(const DatasetKey& key) const {
  return matcher::is_in_files(rule_of(key).through);
}

/// The groups that have the file open for reading. Whoever writes it waits for them, because all steps are
/// the same file.
std::vector<const Group*> Registry::readers_of_file(const DatasetKey& key) const {
  std::vector<const Group*> readers;
  if (!is_in_files(key)) return readers;
  for (const auto& [id, group] : groups_) {
    if (group->purpose == GroupPurpose::open_read && group->step != nullptr && group->key == key)
      readers.push_back(group.get());
  }
  return readers;
}

/// A step that was not begun: the file is as it was.
void Registry::withdraw(Step& step) {
  step.state = StepState::discarded;
  step.reason = quoted(step.key) + " was not written after all";
  std::erase(datasets_[step.key].in_progress, &step);
}

void Registry::end_by_death(Step& step, const std::string& reason) {
  ++datasets_[step.key].steps_lost;
  end_unfinished(
      step, step.is_in_files ? reason + "; what it has written of " + step.path + " is still there" : reason);
  keep_logs(step);
}

}  // namespace sluice::matcher
