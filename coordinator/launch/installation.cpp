#include "installation.hpp"

#include <initializer_list>
#include <string>

namespace sluice::coordinator {
namespace {

std::filesystem::path first_existing(const std::filesystem::path& prefix,
                                     std::initializer_list<std::string> candidates) {
  for (const std::string& candidate : candidates) {
    std::filesystem::path path = prefix / candidate;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path.lexically_normal();
  }
  return {};
}

std::filesystem::path find_library(const std::filesystem::path& binaries, const std::string& name) {
  return first_existing(binaries, {"../lib/" + name, "../" SLUICE_LIBRARY_DIRECTORY "/" + name, name});
}

}  // namespace

Installation find_installation() {
  return find_installation(std::filesystem::read_symlink("/proc/self/exe"));
}

Installation find_installation(const std::filesystem::path& program) {
  const std::filesystem::path binaries = program.parent_path();
  return {program,
          first_existing(binaries, {"sluice-matcher", "../libexec/sluice/sluice-matcher",
                                    "../" SLUICE_LIBRARY_DIRECTORY "/sluice/sluice-matcher"}),
          find_library(binaries, "libsluice_preload.so"),
          find_library(binaries, "libsluice_pnetcdf.so"),
          find_library(binaries, "libsluice_pnetcdf_mpich.so"),
          find_library(binaries, "libsluice_files.so")};
}

}  // namespace sluice::coordinator
