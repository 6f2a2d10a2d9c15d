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

/// The newest one first.
void sort_saved_files(std::vector<std::string>& paths);

/// Makes a file of what was saved at its last fsync, and prints what has become of it. `done`: the paths of
/// files of which a newer one was saved, without this one. Returns whether the file has these contents, or
/// later ones. Throws Error, and then nothing has changed.
[[nodiscard]] bool recover_saved_file(storage::FileSystem& system, const std::string& saved,
                                      const SavedRecoveryOptions& options, std::set<std::string>& done);

}  // namespace sluice::coordinator
