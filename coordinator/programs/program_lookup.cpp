#include "program_lookup.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sluice/formats/near_match.hpp"

namespace sluice::coordinator {
namespace {

bool is_executable_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

/// ", as in python3 plot.py"; empty: not known.
std::string interpreter_advice(const std::filesystem::path& script) {
  constexpr std::array<std::array<std::string_view, 2>, 6> known{{{".py", "python3"},
                                                                  {".sh", "sh"},
                                                                  {".bash", "bash"},
                                                                  {".R", "Rscript"},
                                                                  {".pl", "perl"},
                                                                  {".jl", "julia"}}};
  for (const auto& [extension, interpreter] : known)
    if (script.extension() == extension)
      return ", as in " + std::string(interpreter) + " " + script.filename().string();
  return {};
}

/// ": did you mean 'model'?", for a program in the same directory.
std::string nearest_program(const std::filesystem::path& path) {
  constexpr std::size_t most_compared = 1000;
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end;
       !error && entry != end && names.size() < most_compared; entry.increment(error))
    if (is_executable_file(entry->path())) names.push_back(entry->path().filename().string());
  return formats::suggestion(path.filename().string(), names);
}

std::string describe_unusable(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return "'" + path.string() + "' is a directory";
  if (std::filesystem::exists(path, error))
    return "'" + path.string() + "' is not executable: run chmod +x, or name the interpreter in 'command'" +
           interpreter_advice(path);
  return "'" + path.string() + "' does not exist" + nearest_program(path);
}

/// For a command that is a list of one text.
std::string advice_on_blanks(const std::string& name) {
  if (name.find(' ') == std::string::npos) return {};
  std::string words;
  for (const char c : name) words += c == ' ' ? std::string(", ") : std::string(1, c);
  return ". In a list, each word is an element: write [" + words + "], or the text without a list";
}

}  // namespace

FoundProgram find_program(const std::string& name, const std::filesystem::path& directory,
                          std::string_view search_path) {
  if (name.find('/') != std::string::npos) {
    const std::filesystem::path path = (directory / name).lexically_normal();
    return {path, is_executable_file(path) ? "" : describe_unusable(path) + advice_on_blanks(name)};
  }
  for (std::size_t start = 0; start <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', start), search_path.size());
    const std::filesystem::path path = directory / search_path.substr(start, end - start) / name;
    if (is_executable_file(path)) return {path, ""};
    start = end + 1;
  }
  std::string problem = "'" + name + "' was not found in PATH";
  std::error_code error;
  if (is_executable_file(directory / name)) {
    problem += ". The component's directory has one: write ./" + name;
  } else if (std::filesystem::is_regular_file(directory / name, error)) {
    problem += ". The component's directory has such a file, which is not executable: run chmod +x " + name +
               " and write ./" + name + ", or name its interpreter" + interpreter_advice(name);
  } else {
    problem += nearest_program(directory / name) + advice_on_blanks(name);
  }
  return {{}, problem};
}

}  // namespace sluice::coordinator
