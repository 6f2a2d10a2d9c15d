#pragma once
#include <filesystem>

namespace sluice::coordinator {

/// Where the parts of this Sluice are, found from the place of the running program: beside it in the build
/// tree, or as installed.
struct Installation {
  std::filesystem::path program;         ///< sluice itself
  std::filesystem::path matcher;         ///< sluice-matcher; empty when missing
  std::filesystem::path client_library;  ///< libsluice_pnetcdf.so; empty when missing
};

[[nodiscard]] Installation find_installation();
/// The same for a `sluice` at `program`.
[[nodiscard]] Installation find_installation(const std::filesystem::path& program);

}  // namespace sluice::coordinator
