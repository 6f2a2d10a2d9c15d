#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::runtime {

/// The treatment of a last component that is a symbolic link.
enum class LastLink : std::uint8_t {
  follow,  ///< as in create and open: follow the link; its target need not exist
  stay,    ///< as in delete: name the link itself
};

/// The absolute path of the file that `path` leads to, without symbolic links, "." and "..". The result is
/// valid in any working directory. Components that do not exist, or cannot be inspected, are resolved by
/// name. The result is therefore the same before and after directories and files are made.
[[nodiscard]] std::string resolved_path(std::string_view path, LastLink last_link = LastLink::follow);

struct ResolvedFile {
  std::string path;       ///< resolved_path
  bool is_there = false;  ///< as reported by stat
};

/// Whether a link to this path is one that a run has made for a published file (expose: true). Such a link is
/// not followed, and not a file on disk: it stands for the file that is published.
[[nodiscard]] bool is_exposed_file(std::string_view path) noexcept;

/// The same path, and whether the file exists.
[[nodiscard]] ResolvedFile resolved_file(std::string_view path, LastLink last_link = LastLink::follow);

}  // namespace sluice::runtime
