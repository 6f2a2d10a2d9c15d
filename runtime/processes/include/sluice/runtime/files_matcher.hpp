#pragma once
#include <string>

namespace sluice::runtime {

/// The matcher that has the C library's files of a node: the first one.
struct FilesMatcher {
  std::string socket_path;  ///< empty: this process takes part in no run
  /// The same for a process that becomes another user, in a run of root. Empty: there is no other way.
  std::string door_path = {};
};

/// Of this process's node, by the environment that `sluice run` gives: the variables of rules.hpp, and
/// SLUICE_DOOR.
[[nodiscard]] FilesMatcher files_matcher();

}  // namespace sluice::runtime
