#include "mpi_search.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "child_process.hpp"
#include "elf_file.hpp"
#include "program_lookup.hpp"
#include "shared_libraries.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;
using workflows::Component;

constexpr std::size_t longest_script_bytes = std::size_t{64} << 10;
constexpr std::size_t most_programs = 100;  ///< that a command and its script name

/// The loader of this program, for libraries, which name none.
std::string own_loader() {
  const auto own = read_elf_facts("/proc/self/exe");
  return own ? own->interpreter : "";
}

std::optional<MpiFamily> family_of_file(const fs::path& file, const Environment& environment) {
  const auto facts = read_elf_facts(file);
  if (!facts || !facts->is_this_machine || facts->needed.empty()) return std::nullopt;
  if (const auto family = find_mpi_family(facts->needed)) return family;
  const std::string loader = facts->interpreter.empty() ? own_loader() : facts->interpreter;
  std::vector<std::string> names;
  for (SharedLibrary& library : find_shared_libraries(loader, file, environment))
    names.push_back(std::move(library.name));
  return find_mpi_family(names);
}

/// The first bytes of a script; empty for any other file.
std::string script_text(const fs::path& path) {
  std::string text(longest_script_bytes, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text.starts_with("#!") ? text : "";
}

/// The words of a shell's text, roughly: what may be a program stands by itself.
void add_words(std::string text, std::vector<std::string>& words) {
  std::ranges::replace_if(
      text, [](char c) { return std::string_view(";&|()<>\"'`").find(c) != std::string_view::npos; }, ' ');
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(std::move(word));
}

bool is_python(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

/// The MPI of the mpi4py that this Python would import.
std::optional<MpiFamily> family_of_python(const std::string& python, const Component& component,
                                          const Environment& environment) {
  ChildOptions child;
  child.program = python;
  child.arguments = {python, "-c",
                     "import importlib.util as u; s = u.find_spec('mpi4py'); "
                     "print(*(s.submodule_search_locations if s else []))"};
  child.environment = environment;
  child.directory = component.directory;
  std::istringstream places(output_of(std::move(child)));
  std::string place;
  std::getline(places, place);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("MPI.") || !name.ends_with(".so")) continue;
    if (const auto family = family_of_file(entry.path(), environment)) return family;
  }
  return std::nullopt;
}

/// The words in which programs may be named: those of the command, and of the program if it is a script.
std::vector<std::string> words_of(const Component& component, const fs::path& program) {
  std::vector<std::string> words;
  add_words(script_text(program), words);
  for (const std::string& word : component.command) add_words(word, words);
  return words;
}

}  // namespace

std::optional<MpiFamily> search_mpi(const Component& component, const fs::path& program,
                                    const Environment& environment) {
  const auto path = environment.find("PATH");
  std::set<std::string> seen;
  for (const std::string& word : words_of(component, program)) {
    const std::string name = word.starts_with("#!") ? word.substr(2) : word;
    if (name.empty() || !seen.insert(name).second || seen.size() > most_programs) continue;
    const FoundProgram found =
        find_program(name, component.directory, path == environment.end() ? "" : path->second);
    if (!found.problem.empty()) continue;
    const auto family = is_python(name) ? family_of_python(found.path.string(), component, environment)
                                        : family_of_file(found.path, environment);
    if (family) return family;
  }
  return std::nullopt;
}

}  // namespace sluice::coordinator
