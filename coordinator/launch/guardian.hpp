#pragma once
#include <filesystem>
#include <string_view>

#include "installation.hpp"
#include "run_directory.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// The name (argv[0]) under which `sluice` starts itself as a guardian.
inline constexpr std::string_view guardian_name = "sluice-guardian";

/// A small process that outlives a killed coordinator. It then stops the processes that the coordinator
/// started, and removes the run's directory.
class Guardian {
 public:
  /// Starts the guardian. Throws IoError.
  Guardian(const Installation& installation, const RunDirectory& directory);
  /// Dismisses the guardian after an orderly end of the run: the guardian then ends without further action.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

 private:
  runtime::FileDescriptor line_;
  pid_t process_ = 0;
};

/// The guardian's main function. Waits on descriptor `first_inherited` until the coordinator dismisses the
/// guardian or dies. Returns the exit status.
[[nodiscard]] int guard(const std::filesystem::path& run_directory, const std::filesystem::path& socket);

}  // namespace sluice::coordinator
