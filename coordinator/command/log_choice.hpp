#pragma once
#include <filesystem>
#include <string>

namespace sluice::coordinator {

/// The log directory of a run: by its path; by the workflow's file or name, or the number of the run, as the
/// newest one in `.sluice` beside the file, or here; the newest of all with an empty `run`. A path that is
/// none of these is returned as it is. Empty: there is none.
[[nodiscard]] std::filesystem::path find_log_directory(const std::string& run);

}  // namespace sluice::coordinator
