#pragma once
#include <filesystem>
#include <string>

namespace sluice::coordinator {

/// ".sluice" beside the workflow file.
[[nodiscard]] std::filesystem::path logs_beside(const std::filesystem::path& flow_file);

/// Creates the log directory of a run with its parents; mode 0700. Empty `wanted`: "NAME-DATE-PID" in
/// logs_beside(). Throws IoError.
[[nodiscard]] std::filesystem::path create_log_directory(const std::filesystem::path& wanted,
                                                         const std::filesystem::path& flow_file,
                                                         const std::string& name);

}  // namespace sluice::coordinator
