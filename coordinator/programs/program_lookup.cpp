#include "program_lookup.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace sluice::coordinator {
namespace {

bool is_executable_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::string describe_unusable(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return "'" + path.string() + "' is a directory";
  if (std::filesystem::exists(path, error))
    return "'" + path.string() + "' is not executable: run chmod +x, or name the interpreter in 'command'";
  return "'" + path.string() + "' does not exist";
}

}  // namespace

FoundProgram find_program(const std::string& name, const std::filesystem::path& directory,
                          std::string_view search_path) {
  if (name.find('/') != std::string::npos) {
    const std::filesystem::path path = (directory / name).lexically_normal();
    return {path, is_executable_file(path) ? "" : describe_unusable(path)};
  }
  for (std::size_t start = 0; start <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', start), search_path.size());
    const std::filesystem::path path = directory / search_path.substr(start, end - start) / name;
    if (is_executable_file(path)) return {path, ""};
    start = end + 1;
  }
  std::string problem = "'" + name + "' was not found in PATH";
  if (is_executable_file(directory / name)) problem += ". The component's directory has one: write ./" + name;
  return {{}, problem};
}

}  // namespace sluice::coordinator
