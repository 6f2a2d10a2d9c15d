#pragma once
#include <filesystem>
#include <string>

namespace sluice::coordinator {

/// The log directory of a run that users name as in choose_run(): of the one that goes on, otherwise of the
/// newest one in `.sluice`, beside the workflow's file, in its directory, or here. With an empty `run`, the
/// newest of all. A path that is none of these is returned as it is. Empty: there is none.
[[nodiscard]] std::filesystem::path find_log_directory(const std::string& run);

}  // namespace sluice::coordinator
