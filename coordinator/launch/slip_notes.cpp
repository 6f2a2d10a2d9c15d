#include "slip_notes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "elf_file.hpp"
#include "launch.hpp"
#include "named_programs.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/workflows/command_advice.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;
using workflows::Component;
using workflows::FileRule;
using workflows::Mistake;
using workflows::Workflow;

constexpr std::array<std::string_view, 5> script_extensions{".py", ".sh", ".R", ".jl", ".pl"};
constexpr std::size_t longest_script_bytes = std::size_t{64} << 10;

/// Whether a text file names MPI in any way: "from mpi4py import MPI", "mpirun". A library that it imports
/// may use MPI without that, so what is not found is only told.
bool names_mpi(const fs::path& file) {
  std::string text(longest_script_bytes, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.find('\0') != std::string::npos) return true;  // no text: nothing is known
  std::ranges::transform(text, text.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  for (const char* const word : {"mpi", "srun", "parallel", "petsc", "dolfin", "firedrake"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

/// Whether the program of the command is a script, or a program that runs one: the scripts that it names.
std::vector<fs::path> scripts_of(const Component& component, const fs::path& program) {
  std::vector<fs::path> scripts;
  if (!read_elf_facts(program)) scripts.push_back(program);
  for (std::size_t i = 1; i < component.command.size(); ++i) {
    const fs::path path = component.directory / component.command[i];
    std::error_code error;
    const std::string extension = path.extension().string();
    const bool may_be_script = std::ranges::find(script_extensions, extension) != script_extensions.end() ||
                               (i == 1 && extension.empty());
    if (may_be_script && fs::is_regular_file(path, error)) scripts.push_back(path);
  }
  return scripts;
}

/// A program that is linked with an MPI has ranks. Of a script, its text has to name MPI, or a program that
/// is linked with it.
bool shows_mpi(const Component& component, const Inspection& inspection, const fs::path& program,
               const std::vector<NamedProgram>& named) {
  if (inspection.is_mpi_linked || inspection.is_static) return true;
  if (std::ranges::any_of(component.command, [](const std::string& word) {
        return word.find("mpi") != std::string::npos || word.find("MPI") != std::string::npos;
      }))
    return true;
  const std::vector<fs::path> scripts = scripts_of(component, program);
  if (std::ranges::any_of(scripts, names_mpi)) return true;
  const bool is_python = std::ranges::any_of(named, [](const NamedProgram& found) {
    return found.path.filename().string().find("python") != std::string::npos;
  });
  if (!inspection.mpi) return false;
  return !is_python || scripts.empty();  // Python has mpi4py, and the scripts do not use it
}

/// A script that an interpreter will not find. Another component, or the command itself, may still make it.
void note_missing_script(const Component& component, std::vector<Mistake>& notes) {
  const auto script = std::find_if(component.command.begin() + 1, component.command.end(),
                                   [](const std::string& word) { return !word.starts_with('-'); });
  if (script == component.command.end()) return;
  const std::string extension = fs::path(*script).extension().string();
  const bool is_script = std::ranges::find(script_extensions, extension) != script_extensions.end();
  std::error_code error;
  if (!is_script || script->find('{') != std::string::npos ||
      fs::exists(component.directory / *script, error))
    return;
  notes.push_back({component.command_position, "component '" + component.name + "' runs '" + *script +
                                                   "', which is not in its directory, " +
                                                   component.directory.string() +
                                                   ": correct the name, or set 'directory'"});
}

void note_own_launcher(const Component& component, std::vector<Mistake>& notes) {
  const std::string own = workflows::launcher_in(component.command);
  if (own.empty() || !workflows::is_mpi_launcher(component.command.front())) return;
  notes.push_back(
      {component.command_position,
       "component '" + component.name + "' starts its ranks by its own " + own +
           ", so the number of its processes is not known, and files stay in memory until it has "
           "ended. Write the program alone as 'command', the number as 'ranks', and other options "
           "as 'launcher-options'"});
}

/// Looks into the scripts of a component that has ranks.
void note_ranks(const Workflow& workflow, const Component& component, const Inspection& inspection,
                const Environment& environment, std::vector<Mistake>& notes) {
  const FoundProgram program = find_program_of(component, environment);
  const auto named = find_named_programs(component, program.path, environment);
  const auto launcher = std::ranges::find_if(
      named, [](const NamedProgram& found) { return workflows::is_mpi_launcher(found.name); });
  if (launcher != named.end()) {
    notes.push_back({component.command_position,
                     "the script of component '" + component.name + "' names " + launcher->name +
                         ", and the component has ranks: each of its " + std::to_string(component.ranks) +
                         " ranks runs the script. Leave 'ranks' out if the script starts the ranks"});
  } else if (component.ranks > 1 && is_coupled(workflow, component.name) &&
             !shows_mpi(component, inspection, program.path, named)) {
    notes.push_back({component.command_position,
                     "nothing shows that the program of component '" + component.name +
                         "' uses MPI: 'ranks: " + std::to_string(component.ranks) + "' starts it " +
                         std::to_string(component.ranks) +
                         " times, and each copy reads and writes the same files. Leave 'ranks' out if it is "
                         "serial"});
  }
}

/// Whether the command says where else the component looks for files.
bool names_other_places(const Component& component, const std::string& place) {
  return std::any_of(component.command.begin() + 1, component.command.end(), [&](const std::string& word) {
    return word.find("..") != std::string::npos || word.find("=/") != std::string::npos ||
           word.starts_with('/') || (!place.empty() && word.find(place) != std::string::npos);
  });
}

/// Whether a name without a directory, or with the rule's, is likely not the writer's file for this reader.
bool starts_elsewhere(const Workflow& workflow, const FileRule& rule, const Component& writer,
                      const Component& reader) {
  const std::size_t end = rule.pattern.rfind('/');
  if (end == std::string::npos) return reader.directory != writer.directory;
  const fs::path top = fs::absolute(workflow.file).parent_path().lexically_normal();
  return reader.directory != top &&
         !runtime::match_tail(std::string_view(rule.pattern).substr(0, end), reader.directory.string());
}

void note_directories_of(const Workflow& workflow, const FileRule& rule, std::vector<Mistake>& notes) {
  const auto component_of = [&](const std::string& name) {
    return std::ranges::find(workflow.components, name, &Component::name);
  };
  const auto writer = component_of(rule.writer);
  if (rule.identity != matcher::Identity::path || writer == workflow.components.end()) return;
  for (const std::string& name : rule.readers) {
    const auto reader = component_of(name);
    if (reader == workflow.components.end() || reader->for_each || reader == writer ||
        !writer->ensemble.empty() || !reader->ensemble.empty() ||
        !starts_elsewhere(workflow, rule, *writer, *reader) ||
        names_other_places(*reader, writer->directory.filename().string()) ||
        names_other_places(*writer, reader->directory.filename().string()))
      continue;
    notes.push_back({rule.position, "'" + rule.writer + "' starts in " + writer->directory.string() +
                                        ", and '" + name + "' in " + reader->directory.string() +
                                        ": one name is another file in each of them. Give both the same "
                                        "'directory', let '" +
                                        name +
                                        "' name the file with its directory, or set 'identity: name' in the "
                                        "rule"});
    return;
  }
}

}  // namespace

std::vector<Mistake> find_slips(const Workflow& workflow, const Inspections& inspections,
                                const Environment& environment) {
  std::vector<Mistake> notes;
  for (std::size_t i = 0; i < inspections.size(); ++i) {
    const Component& component = workflow.components[i];
    if (!inspections[i] || component.instance != 0) continue;
    note_missing_script(component, notes);
    component.ranks == 0 ? note_own_launcher(component, notes)
                         : note_ranks(workflow, component, *inspections[i], environment, notes);
  }
  for (const FileRule& rule : workflow.files) note_directories_of(workflow, rule, notes);
  return notes;
}

}  // namespace sluice::coordinator
