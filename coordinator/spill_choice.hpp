#pragma once
#include <filesystem>
#include <string>

#include "launch.hpp"

namespace sluice::coordinator {

/// Where what finds no room in memory goes on this machine.
struct SpillChoice {
  std::filesystem::path directory;  ///< absolute; empty: nowhere
  bool is_automatic = false;        ///< other nodes may choose another one
  std::string trouble;              ///< why there is none, where one was to be found
};

/// `staging.spill`: the directory that the user names, or for `auto` that of the workflow file, which is
/// where the files would have gone, or else TMPDIR: the first whose file system can reserve room.
[[nodiscard]] SpillChoice choose_spill(const workflows::Workflow& workflow, const Environment& environment);

}  // namespace sluice::coordinator
