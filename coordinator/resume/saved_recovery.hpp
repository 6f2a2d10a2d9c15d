#pragma once
#include <set>
#include <string>
#include <vector>

#include "sluice/storage/file_system.hpp"

namespace sluice::coordinator {

struct SavedRecoveryOptions {
  std::string output_directory;  ///< empty: where each file was
  bool deletes = false;
  bool is_forced = false;
};

/// What was saved in the directory, the newest one first. Throws IoError.
[[nodiscard]] std::vector<std::string> saved_files_in(storage::FileSystem& system,
                                                      const std::string& directory);

/// Makes a file of what was saved at its last fsync, and prints what has become of it. `done`: the paths of
/// files of which a newer one was saved, without this one. Returns whether the file has these contents, or
/// later ones. Throws Error, and then nothing has changed.
[[nodiscard]] bool recover_saved_file(storage::FileSystem& system, const std::string& saved,
                                      const SavedRecoveryOptions& options, std::set<std::string>& done);

}  // namespace sluice::coordinator
