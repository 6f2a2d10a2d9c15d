#pragma once
#include <string>

#include "sluice/storage/file_system.hpp"

namespace sluice::coordinator {

struct SavedRecoveryOptions {
  std::string output_directory;  ///< empty: where each file was
  bool deletes = false;
  bool is_forced = false;
};

/// Makes a file of what was saved at its last fsync, and prints what has become of it. Returns whether the
/// file has these contents, or later ones. Throws Error, and then nothing has changed.
[[nodiscard]] bool recover_saved_file(storage::FileSystem& system, const std::string& saved,
                                      const SavedRecoveryOptions& options);

}  // namespace sluice::coordinator
