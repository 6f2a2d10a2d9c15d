#include "mpi_search.hpp"

#include <sstream>

#include "child_process.hpp"
#include "elf_file.hpp"
#include "named_programs.hpp"
#include "shared_libraries.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;
using workflows::Component;

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

}  // namespace

std::optional<MpiFamily> search_mpi(const Component& component, const fs::path& program,
                                    const Environment& environment) {
  for (const NamedProgram& found : find_named_programs(component, program, environment)) {
    const auto family = is_python(found.name) ? family_of_python(found.path.string(), component, environment)
                                              : family_of_file(found.path, environment);
    if (family) return family;
  }
  return std::nullopt;
}

}  // namespace sluice::coordinator
