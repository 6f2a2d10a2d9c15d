#pragma once
#include <filesystem>
#include <string_view>

#include "installation.hpp"
#include "run_directory.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// The name (argv[0]) by which `sluice` starts itself as a guardian.
inline constexpr std::string_view guardian_name = "sluice-guardian";

/// A small process that outlives a coordinator that is killed: it then stops what the coordinator started and
/// removes the run's directory.
class Guardian {
 public:
  /// Starts it. Throws IoError.
  Guardian(const Installation& installation, const RunDirectory& directory);
  /// The run has ended in an orderly way: the guardian leaves without doing anything.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

 private:
  runtime::FileDescriptor line_;
  pid_t process_ = 0;
};

/// The guardian's main function: waits on descriptor `first_inherited` until the coordinator dismisses it or
/// dies. Returns the exit status.
[[nodiscard]] int guard(const std::filesystem::path& run_directory, const std::filesystem::path& socket);

}  // namespace sluice::coordinator
