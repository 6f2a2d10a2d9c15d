#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "environment.hpp"

namespace sluice::coordinator {

/// What a program has done with files.
struct TriedProgram {
  std::set<std::filesystem::path> written, read;  ///< absolute, without symbolic links; opened at least once
  /// how often a file that it has written was closed since it was made anew, where that is more than once
  std::map<std::filesystem::path, int> closes;
  std::map<std::filesystem::path, std::int64_t> modified_ns;  ///< of what it has written, at its end
  std::set<std::filesystem::path> made;  ///< of what it has written, what was not there before
  int status = 0;                        ///< its exit status; 128 + signal
};

/// Runs a command through files, without Sluice's coupling, and records which files it opens.
/// `files_library`: libsluice_files.so. Its output goes where this process's goes. Throws IoError.
[[nodiscard]] TriedProgram try_program(const std::vector<std::string>& words, const Environment& environment,
                                       const std::filesystem::path& files_library);

}  // namespace sluice::coordinator
