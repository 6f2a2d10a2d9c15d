#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "flow_draft.hpp"

namespace sluice::coordinator {

/// What a trial tells of a workflow.
struct TrialFindings {
  std::vector<DraftRule> rules;
  std::map<std::size_t, std::string> later;  ///< components that must begin when others have ended, and why
  std::vector<std::string> problems;         ///< what no workflow can do as the trial did
};

/// Files that one of the programs has written and another one has read pass by rules. `tried`: for each
/// component, in the order in which they were tried. `directory`: of the workflow. `names`: of the
/// components. Numbers that differ in otherwise equal names become '*', or a narrower pattern where that
/// covers files that others write, or that the writer has not written. What several programs change passes
/// through the disk. Who depends on an earlier program in another way than by opening its files begins when
/// that has ended.
[[nodiscard]] TrialFindings find_rules(const std::vector<TriedProgram>& tried,
                                       const std::filesystem::path& directory,
                                       const std::vector<std::string>& names);

}  // namespace sluice::coordinator
