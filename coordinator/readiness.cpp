#include "readiness.hpp"

#include <unistd.h>

#include <algorithm>

#include "child_process.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/spill_file.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::Launcher;
using workflows::Mistake;
using workflows::Workflow;

std::string search_path(const Component& component, const Environment& environment) {
  if (const auto own = component.environment.find("PATH"); own != component.environment.end())
    return own->second;
  const auto inherited = environment.find("PATH");
  return inherited == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : inherited->second;
}

/// Why the component's directory cannot be used; empty when it can.
std::string directory_problem(const Component& component) {
  std::error_code error;
  const std::string shown =
      "the directory '" + component.directory.string() + "' of component '" + component.name + "'";
  if (!std::filesystem::exists(component.directory, error))
    return shown + " does not exist: create it, or change 'directory'";
  if (!std::filesystem::is_directory(component.directory, error)) return shown + " is not a directory";
  if (::access(component.directory.c_str(), X_OK) != 0) return shown + " may not be entered";
  return "";
}

/// Why that launcher cannot be started; empty when it can.
std::string missing_launcher(const std::string& name, const Environment& environment) {
  const auto path = environment.find("PATH");
  const std::string searched = path == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
  const FoundProgram found = find_program(name, std::filesystem::current_path(), searched);
  return found.problem.empty() ? "" : "its launcher cannot be started: " + found.problem;
}

/// Why the components that have ranks cannot be launched; empty when they can, or there are none.
std::string launcher_problem(const Workflow& workflow, const Environment& environment) {
  const bool is_needed = std::any_of(workflow.components.begin(), workflow.components.end(),
                                     [](const Component& component) { return component.ranks > 0; });
  if (!is_needed) return "";
  switch (workflow.launcher.kind) {
    case Launcher::Kind::none:
      return "";
    case Launcher::Kind::srun:
      return missing_launcher("srun", environment);
    case Launcher::Kind::custom:
      return missing_launcher(workflow.launcher.command.front(), environment);
    case Launcher::Kind::mpirun:
      break;
  }
  const std::string version = launcher_version(environment);
  if (version.empty())
    return "mpirun was not found in PATH: install it (Debian: openmpi-bin), or add it to PATH";
  if (version.find("Open MPI") == std::string::npos && version.find("OpenRTE") == std::string::npos) {
    return "the mpirun in PATH is not that of Open MPI, with which Sluice was built, but '" + version +
           "': put Open MPI's first in PATH";
  }
  return "";
}

/// Why what memory has no room for cannot go where it is to go, as far as this machine is concerned; empty
/// when it can. On other nodes the matchers look.
std::string spill_problem(const Workflow& workflow) {
  if (workflow.spill_directory.empty()) return "";
  try {
    runtime::probe_spill_directory(workflow.spill_directory.string());
  } catch (const Error& error) {
    return std::string("staging.spill cannot be used: ") + error.what();
  }
  return "";
}

}  // namespace

std::string launcher_version(const Environment& environment) {
  const auto path = environment.find("PATH");
  if (path == environment.end() || !find_program("mpirun", "/", path->second).problem.empty()) return "";
  ChildOptions child;
  child.program = "mpirun";
  child.arguments = {"mpirun", "--version"};
  child.environment = environment;
  const std::string text = output_of(std::move(child));
  return text.empty() ? "something without a version" : text.substr(0, text.find('\n'));
}

FoundProgram find_program_of(const Component& component, const Environment& environment) {
  return find_program(component.command.front(), component.directory, search_path(component, environment));
}

std::vector<Mistake> find_obstacles(const Workflow& workflow, const Environment& environment) {
  std::vector<Mistake> obstacles;
  for (const Component& component : workflow.components) {
    if (std::string problem = directory_problem(component); !problem.empty()) {
      obstacles.push_back({component.position, std::move(problem)});
    } else if (const FoundProgram program = find_program_of(component, environment);
               !program.problem.empty()) {
      obstacles.push_back({component.command_position,
                           "the program of component '" + component.name + "': " + program.problem});
    }
  }
  if (std::string problem = spill_problem(workflow); !problem.empty())
    obstacles.push_back({workflow.spill_position, std::move(problem)});
  if (std::string problem = launcher_problem(workflow, environment); !problem.empty()) {
    const auto first = std::find_if(workflow.components.begin(), workflow.components.end(),
                                    [](const Component& component) { return component.ranks > 0; });
    obstacles.push_back({first->position, "component '" + first->name + "' has ranks, but " + problem});
  }
  return obstacles;
}

bool is_coupled(const Workflow& workflow, const std::string& component) {
  return std::any_of(workflow.files.begin(), workflow.files.end(), [&](const workflows::FileRule& rule) {
    return rule.writer == component ||
           std::find(rule.readers.begin(), rule.readers.end(), component) != rule.readers.end();
  });
}

std::optional<Inspection> inspect_program_of(const Workflow& workflow, const Component& component,
                                             const Environment& environment) {
  const FoundProgram program = find_program_of(component, environment);
  if (!program.problem.empty()) return std::nullopt;
  Environment started = environment;
  for (const auto& [name, value] : component.environment) started[name] = value;
  return inspect_program(program.path, started, is_coupled(workflow, component.name));
}

Inspections inspect_programs(const Workflow& workflow, const Environment& environment) {
  Inspections inspections;
  for (const Component& component : workflow.components)
    inspections.push_back(inspect_program_of(workflow, component, environment));
  return inspections;
}

std::vector<Mistake> find_unfit_programs(const Workflow& workflow, const Inspections& inspections) {
  std::vector<Mistake> mistakes;
  for (std::size_t i = 0; i < inspections.size(); ++i) {
    if (!inspections[i]) continue;
    const Component& component = workflow.components[i];
    for (const std::string& text : inspections[i]->mistakes)
      mistakes.push_back(
          {component.command_position, "the program of component '" + component.name + "': " + text});
  }
  return mistakes;
}

std::string find_missing_parts(const Installation& installation) {
  std::string missing;
  if (installation.matcher.empty()) missing = "sluice-matcher";
  if (installation.client_library.empty())
    missing += (missing.empty() ? "" : " and ") + std::string("libsluice_pnetcdf.so");
  if (missing.empty()) return "";
  return missing + " was not found beside '" + installation.program.string() +
         "'\nbuild everything (tools/build), or reinstall Sluice";
}

}  // namespace sluice::coordinator
