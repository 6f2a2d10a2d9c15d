#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::runtime {

/// What becomes of a last component that is a symbolic link.
enum class LastLink : std::uint8_t {
  follow,  ///< as in create and open: the file that it leads to, which need not be there
  stay,    ///< as in delete: the link
};

/// The absolute path of the file that `path` leads to, without symbolic links, "." and "..", whatever the
/// working directory of who is told. What is not there, or may not be looked at, is taken by its names; so
/// the path is the same before and after directories and files are made.
[[nodiscard]] std::string resolved_path(std::string_view path, LastLink last_link = LastLink::follow);

}  // namespace sluice::runtime
