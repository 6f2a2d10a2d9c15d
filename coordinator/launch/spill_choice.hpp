#pragma once
#include <filesystem>
#include <string>

#include "launch.hpp"

namespace sluice::coordinator {

/// The directory on this machine for data that does not fit in memory.
struct SpillChoice {
  std::filesystem::path directory;  ///< absolute; empty: no directory
  bool is_automatic = false;        ///< other nodes may choose another one
  std::string trouble;              ///< why no directory was found, if one was wanted
};

/// Evaluates `staging.spill`. Takes the directory that the user names. For `auto`, takes the first of two
/// directories whose file system can reserve space: the directory of the workflow file, where the files would
/// have been written, then TMPDIR.
[[nodiscard]] SpillChoice choose_spill(const workflows::Workflow& workflow, const Environment& environment);

}  // namespace sluice::coordinator
