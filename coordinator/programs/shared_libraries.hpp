#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "environment.hpp"

namespace sluice::coordinator {

/// A shared library that the dynamic loader would load for a program.
struct SharedLibrary {
  std::string name;  ///< "libm.so.6"
  bool is_found = true;
};

/// All libraries that `loader` would load for `program`, those of libraries included. Empty if the loader
/// prints no list. `environment`: the one that the program would have.
[[nodiscard]] std::vector<SharedLibrary> find_shared_libraries(const std::string& loader,
                                                               const std::filesystem::path& program,
                                                               const Environment& environment);

}  // namespace sluice::coordinator
