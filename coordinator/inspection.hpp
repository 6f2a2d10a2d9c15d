#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "environment.hpp"

namespace sluice::coordinator {

/// What can be said about a program without running it.
struct Inspection {
  std::string kind;  ///< "linked with libpnetcdf.so.0d", "a script for /usr/bin/python3", …
  std::vector<std::string> mistakes;  ///< it cannot run, or cannot be coupled; each says what to do
  std::vector<std::string> notes;
};

/// Inspects the executable at `path` as it would be started with `environment`. `is_coupled`: a file rule
/// names its component.
[[nodiscard]] Inspection inspect_program(const std::filesystem::path& path, const Environment& environment,
                                         bool is_coupled);

}  // namespace sluice::coordinator
