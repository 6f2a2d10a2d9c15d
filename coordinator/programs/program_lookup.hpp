#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::coordinator {

/// A program that the kernel will find, or the reason why it will not.
struct FoundProgram {
  std::filesystem::path path;
  std::string problem;  ///< empty when found
};

/// Looks for the program `name` in `directory` as execvp does. A name with '/' is relative to the directory;
/// any other name is searched in `search_path` (a PATH).
[[nodiscard]] FoundProgram find_program(const std::string& name, const std::filesystem::path& directory,
                                        std::string_view search_path);

}  // namespace sluice::coordinator
