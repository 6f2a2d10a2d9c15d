#include "installation.hpp"

#include <initializer_list>

namespace sluice::coordinator {
namespace {

std::filesystem::path first_existing(const std::filesystem::path& prefix,
                                     std::initializer_list<const char*> candidates) {
  for (const char* candidate : candidates) {
    std::filesystem::path path = prefix / candidate;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path.lexically_normal();
  }
  return {};
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
          first_existing(binaries,
                         {"../lib/libsluice_pnetcdf.so",
                          "../" SLUICE_LIBRARY_DIRECTORY "/libsluice_pnetcdf.so", "libsluice_pnetcdf.so"})};
}

}  // namespace sluice::coordinator
