#pragma once
// What a run has published, for people and for listings of directories. The structs are also messages.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"

namespace sluice::matcher {

/// The name with which programs connect that `sluice attach` has started, and all who only look at a run. No
/// component has it, because no component's name begins with a dot.
inline constexpr std::string_view attached_name = ".attached";

/// As ListRequest::directory: no file is in it, so the answer comes at once.
inline constexpr const char* no_directory = "/.";

/// Asks for the published files of which the data can be had, in the order of their keys.
struct ListRequest {
  std::string directory = {};            ///< absolute, without symbolic links; empty: all directories
  bool has_sizes = false;                ///< `bytes` is wanted, which costs time
  std::optional<DatasetKey> after = {};  ///< the list goes on behind this key
  /// Instead, the files that were published after so many publications, in that order. The matcher answers
  /// when there are some.
  std::optional<std::uint64_t> newer_than = {};
  std::string component = {};  ///< of the process that asks: it also finds what this component is writing
  bool is_written = false;     ///< instead, what processes of the matcher write or have written, by path
};

/// The newest step of a file.
struct PublishedFile {
  DatasetKey key;
  std::string name;        ///< as messages show it
  std::string path;        ///< absolute path of the file that it stands for, or that has its data
  std::uint64_t step = 0;  ///< 0: there is only the file on disk
  std::uint64_t bytes =
      0;  ///< of the file that would be on disk; 0: not asked for, or there is only the file
  std::uint64_t age_ms = 0;       ///< since its publication
  std::uint64_t publication = 0;  ///< the number of this publication among all of the run
};

/// A part of the list.
struct Listing {
  std::vector<PublishedFile> files;
  /// published files that nobody can have any more, among those that this part has gone through
  std::uint64_t gone = 0;
  std::optional<DatasetKey> last = {};  ///< where the next part goes on; empty: there is no other
};

}  // namespace sluice::matcher
