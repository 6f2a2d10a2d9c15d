#pragma once
#include <filesystem>

namespace sluice::coordinator {

/// The paths of the parts of this Sluice. They follow from the path of the running program, in the build tree
/// or as installed.
struct Installation {
  std::filesystem::path program;          ///< sluice itself
  std::filesystem::path matcher;          ///< sluice-matcher; empty when missing
  std::filesystem::path preload_library;  ///< libsluice_preload.so; empty when missing
  std::filesystem::path client_library;   ///< libsluice_pnetcdf.so, for Open MPI; empty when missing
  std::filesystem::path mpich_library;    ///< libsluice_pnetcdf_mpich.so; empty where it was not built
  std::filesystem::path files_library;    ///< libsluice_files.so; empty where it was not built
};

[[nodiscard]] Installation find_installation();
/// The installation of a `sluice` at `program`.
[[nodiscard]] Installation find_installation(const std::filesystem::path& program);

}  // namespace sluice::coordinator
