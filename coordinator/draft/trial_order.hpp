#pragma once
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "trial.hpp"

namespace sluice::coordinator {

/// A program that was tried must begin when an earlier one has ended, because it depends on it in another way
/// than by opening a file that it has written.
struct TrialOrder {
  std::size_t first = 0, second = 0;  ///< indexes of the programs
  std::string reason;                 ///< "it lists out, where model writes files"
};

/// At most one for two programs. `passed`: files that one program writes, and that others wait for as they
/// open them or ask for them. `directory`: of the workflow, for the names in reasons.
[[nodiscard]] std::vector<TrialOrder> find_order(const std::vector<TriedProgram>& tried,
                                                 const std::set<std::filesystem::path>& passed,
                                                 const std::filesystem::path& directory,
                                                 const std::vector<std::string>& names);

}  // namespace sluice::coordinator
