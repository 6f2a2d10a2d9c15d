#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "environment.hpp"

namespace sluice::coordinator {

/// A call of a program about a path.
struct TrialCall {
  char letter = 0;             ///< of files/open_record.hpp
  std::filesystem::path path;  ///< absolute, as the program gave it
  std::filesystem::path name;  ///< absolute; links in its directories are followed, and it is not
  std::filesystem::path file;  ///< where the links end; empty: nowhere, when the program has ended

  [[nodiscard]] bool is_write() const {
    return std::string_view("nwajv").find(letter) != std::string_view::npos;
  }
};

/// What a program has done with files.
struct TriedProgram {
  std::set<std::filesystem::path> written, read;  ///< absolute, without symbolic links; opened at least once
  /// how often a file that it has written was closed since it was made anew, where that is more than once
  std::map<std::filesystem::path, int> closes;
  std::map<std::filesystem::path, std::int64_t> modified_ns;  ///< of what it has written, at its end
  std::set<std::filesystem::path> made;        ///< of what it has written, what was not there before
  std::set<std::filesystem::path> gone;        ///< it has written them, and they were not there at its end
  std::set<std::filesystem::path> begun_with;  ///< of what it has written, what it had read or gone on with
  std::set<std::filesystem::path> rewritten;   ///< of what it has written, what it has begun anew
  std::set<std::filesystem::path> moved;       ///< files in directories to which it has given a name
  std::set<std::filesystem::path> named;       ///< directories, links and pipes that it has made
  std::vector<TrialCall> calls;                ///< all, in their order
  int status = 0;                              ///< its exit status; 128 + signal
};

/// The path with the links in its directories followed, and not the last one.
[[nodiscard]] std::filesystem::path name_of(const std::filesystem::path& path);

/// Takes one call more to the others; `letter` and `path` are those of the record.
void note_trial_call(char letter, const std::filesystem::path& path, TriedProgram& program);
/// To be called when the program has ended, and all calls are noted.
void finish_trial(TriedProgram& program);

/// Runs a command through files, without Sluice's coupling, and records which files it opens.
/// `files_library`: libsluice_files.so. Its output goes where this process's goes. Throws IoError.
[[nodiscard]] TriedProgram try_program(const std::vector<std::string>& words, const Environment& environment,
                                       const std::filesystem::path& files_library);

}  // namespace sluice::coordinator
