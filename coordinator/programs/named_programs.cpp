#include "named_programs.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "program_lookup.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;
using workflows::Component;

constexpr std::size_t longest_script_bytes = std::size_t{64} << 10;
constexpr std::size_t most_programs = 100;  ///< that a command and its script name

std::string first_bytes(const fs::path& path) {
  std::string text(longest_script_bytes, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

/// The words of a shell's text, roughly: what may be a program stands by itself.
void add_words(std::string text, std::vector<std::string>& words) {
  std::ranges::replace_if(
      text, [](char c) { return std::string_view(";&|()<>\"'`").find(c) != std::string_view::npos; }, ' ');
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(std::move(word));
}

/// The first line names the interpreter; other lines that begin with # are comments.
void add_script(const std::string& text, std::vector<std::string>& words) {
  std::istringstream lines(text);
  bool is_first = true;
  for (std::string line; std::getline(lines, line); is_first = false) {
    const std::size_t begin = line.find_first_not_of(" \t");
    const bool is_comment = begin != std::string::npos && line[begin] == '#';
    if (!is_comment || is_first) add_words(line, words);
  }
}

bool is_shell(const fs::path& program) {
  constexpr std::array<std::string_view, 6> shells{"sh", "bash", "dash", "ksh", "zsh", "fish"};
  return std::ranges::find(shells, program.filename().string()) != shells.end();
}

/// Of `sh SCRIPT`: the text of the script; empty for any other command.
std::string script_of_shell(const Component& component) {
  if (!is_shell(component.command.front())) return {};
  const auto argument = std::find_if(component.command.begin() + 1, component.command.end(),
                                     [](const std::string& word) { return !word.starts_with('-'); });
  if (argument == component.command.end()) return {};
  const fs::path path = fs::path(component.directory) / *argument;
  std::error_code error;
  std::string text = fs::is_regular_file(path, error) ? first_bytes(path) : std::string();
  return text.find('\0') == std::string::npos ? text : std::string();
}

/// The words in which programs may be named: those of the program if it is a script, and of the command.
std::vector<std::string> words_of(const Component& component, const fs::path& program) {
  std::vector<std::string> words;
  if (const std::string text = first_bytes(program); text.starts_with("#!")) add_script(text, words);
  for (const std::string& word : component.command) add_words(word, words);
  add_script(script_of_shell(component), words);
  return words;
}

}  // namespace

std::vector<NamedProgram> find_named_programs(const Component& component, const fs::path& program,
                                              const Environment& environment) {
  const auto path = environment.find("PATH");
  const std::string_view search_path = path == environment.end() ? "" : std::string_view(path->second);
  std::vector<NamedProgram> programs;
  std::set<std::string> seen;
  for (const std::string& word : words_of(component, program)) {
    const std::string name = word.starts_with("#!") ? word.substr(2) : word;
    if (name.empty() || !seen.insert(name).second || seen.size() > most_programs) continue;
    FoundProgram found = find_program(name, component.directory, search_path);
    if (found.problem.empty()) programs.push_back({name, std::move(found.path)});
  }
  return programs;
}

}  // namespace sluice::coordinator
