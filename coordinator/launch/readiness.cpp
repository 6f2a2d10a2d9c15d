#include "readiness.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "elf_file.hpp"
#include "format.hpp"
#include "launch.hpp"
#include "mpi_launchers.hpp"
#include "mpi_search.hpp"
#include "named_programs.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/spill_file.hpp"
#include "sluice/workflows/usable_memory.hpp"

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

/// Why the component's directory is unusable; empty if it is usable.
std::string directory_problem(const Component& component) {
  std::error_code error;
  const std::string shown =
      "the directory '" + component.directory.string() + "' of component '" + component.name + "'";
  if (!std::filesystem::exists(component.directory, error))
    return shown + " does not exist: create it, or change 'directory'";
  if (!std::filesystem::is_directory(component.directory, error)) return shown + " is not a directory";
  if (::access(component.directory.c_str(), X_OK) != 0)
    return shown + " cannot be entered: check its permissions";
  return "";
}

/// Why that launcher cannot be started; empty if it can.
std::string missing_launcher(const std::string& name, const Environment& environment) {
  const auto path = environment.find("PATH");
  const std::string searched = path == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
  const FoundProgram found = find_program(name, std::filesystem::current_path(), searched);
  return found.problem.empty() ? "" : "its launcher cannot be started: " + found.problem;
}

/// Why the component's ranks cannot be launched; empty if they can.
std::string launcher_problem(const Launcher& launcher, const Environment& environment) {
  if (const auto mpi = traits_of(launcher).mpi) return find_mpi_launcher(*mpi, environment).problem;
  const std::string name = launcher_name(launcher);
  return name.empty() ? name : missing_launcher(name, environment);
}

/// Each launcher that cannot be started, once, at its first component.
std::vector<Mistake> find_launcher_problems(const Workflow& workflow, const Environment& environment) {
  std::vector<Mistake> problems;
  std::set<std::string> told;
  for (const Component& component : workflow.components) {
    if (component.ranks == 0) continue;
    const std::string problem = launcher_problem(launcher_of(workflow, component), environment);
    if (!problem.empty() && told.insert(problem).second)
      problems.push_back(
          {component.position, "component '" + component.name + "' has ranks, but " + problem});
  }
  return problems;
}

/// Why the spill directory is unusable on this machine; empty if it is usable. On other nodes the matchers
/// check their directory.
std::string spill_problem(const Workflow& workflow) {
  if (workflow.spill_directory.empty()) return "";
  try {
    runtime::probe_spill_directory(workflow.spill_directory.string());
  } catch (const Error& error) {
    return std::string("staging.spill cannot be used: ") + error.what();
  }
  return "";
}

/// Other nodes of a run may have more memory than this machine, but not that much more.
std::string memory_problem(const Workflow& workflow) {
  const std::uint64_t usable = workflows::usable_memory_bytes();
  if (workflow.memory_bytes / beyond_other_nodes <= usable) return "";
  return "staging.memory is " + format_bytes(workflow.memory_bytes) + ", and this machine has " +
         format_bytes(usable) +
         ": write what a node may use, as in memory: 8GiB, or leave it out for a quarter";
}

}  // namespace

FoundProgram find_program_of(const Component& component, const Environment& environment) {
  return find_program(component.command.front(), component.directory, search_path(component, environment));
}

namespace {

/// What a workflow that was made from a DTF configuration has in place of a command.
constexpr std::string_view command_placeholder = "???";

/// Why the component's program cannot be started; empty when it can.
std::string program_problem(const Component& component, const Environment& environment) {
  if (component.command.front() == command_placeholder) {
    return "the command of component '" + component.name + "' is still " + std::string(command_placeholder) +
           ": write the program and its arguments, and check 'ranks'";
  }
  const FoundProgram program = find_program_of(component, environment);
  if (program.problem.empty()) return "";
  return "the program of component '" + component.name + "': " + program.problem;
}

}  // namespace

std::vector<Mistake> find_obstacles(const Workflow& workflow, const Environment& environment) {
  std::vector<Mistake> obstacles;
  std::set<std::string> told;  // ensembles: the first member with a problem is enough
  for (const Component& component : workflow.components) {
    if (told.contains(component.ensemble)) continue;
    const std::size_t before = obstacles.size();
    if (std::string problem = directory_problem(component); !problem.empty()) {
      obstacles.push_back({component.position, std::move(problem)});
    } else if (std::string problem = program_problem(component, environment); !problem.empty()) {
      obstacles.push_back({component.command_position, std::move(problem)});
    }
    if (obstacles.size() > before && !component.ensemble.empty()) told.insert(component.ensemble);
  }
  if (std::string problem = spill_problem(workflow); !problem.empty())
    obstacles.push_back({workflow.spill_position, std::move(problem)});
  std::error_code error;
  if (!workflow.hostfile.empty() && !std::filesystem::is_regular_file(workflow.hostfile, error))
    obstacles.push_back(
        {workflow.hostfile_position, "the host file '" + workflow.hostfile.string() +
                                         "' does not exist, or is no file: write one with the "
                                         "names of nodes, or leave 'hostfile' out"});
  if (std::string problem = memory_problem(workflow); !problem.empty())
    obstacles.push_back({workflow.components.front().position, std::move(problem)});
  for (Mistake& mistake : find_launcher_problems(workflow, environment))
    obstacles.push_back(std::move(mistake));
  return obstacles;
}

bool promises_more_than_closes(const workflows::FileRule& rule) noexcept {
  return rule.through == matcher::Through::burst_buffer || rule.publish_at != matcher::PublishAt::close;
}

bool is_coupled(const Workflow& workflow, const std::string& component) {
  return std::any_of(workflow.files.begin(), workflow.files.end(), [&](const workflows::FileRule& rule) {
    return rule.writer == component ||
           std::find(rule.readers.begin(), rule.readers.end(), component) != rule.readers.end();
  });
}

bool is_writer(const Workflow& workflow, const std::string& component) {
  return std::ranges::any_of(workflow.files, [&](const auto& rule) { return rule.writer == component; });
}

namespace {

Coupling coupling_of(const Workflow& workflow, const std::string& component) {
  if (!is_coupled(workflow, component)) return Coupling::none;
  const bool is_exposed = std::ranges::all_of(workflow.files, [&](const workflows::FileRule& rule) {
    return rule.exposes || std::ranges::find(rule.readers, component) == rule.readers.end();
  });
  return is_writer(workflow, component) ? Coupling::writer
         : is_exposed                   ? Coupling::exposed
                                        : Coupling::reader;
}

/// Programs that its script starts, and that see the disk only.
void note_static_programs(const Component& component, const std::filesystem::path& program,
                          const Environment& environment, Inspection& inspection) {
  for (const NamedProgram& named : find_named_programs(component, program, environment)) {
    const auto facts = named.path == program ? std::nullopt : read_elf_facts(named.path);
    if (!facts || !facts->is_this_machine || !facts->interpreter.empty()) continue;
    inspection.notes.push_back("its script or command names '" + named.name +
                               "', which is statically linked: that program sees files on the disk only. Use "
                               "a dynamically linked one, or, "
                               "to read, give the rule 'expose: true'");
  }
}

}  // namespace

namespace {

/// Programs that were inspected, by what their inspections depend on: many components may have one program.
struct KnownProgram {
  std::filesystem::path path;
  Coupling coupling{};
  decltype(Component::environment) environment;  ///< of the component
  Inspection inspection;
};
using KnownPrograms = std::vector<KnownProgram>;

const Inspection& inspect_once(const std::filesystem::path& path, Coupling coupling,
                               const Component& component, const Environment& started, KnownPrograms& known) {
  const auto found = std::ranges::find_if(known, [&](const KnownProgram& program) {
    return program.path == path && program.coupling == coupling &&
           program.environment == component.environment;
  });
  if (found != known.end()) return found->inspection;
  known.push_back({path, coupling, component.environment, inspect_program(path, started, coupling)});
  return known.back().inspection;
}

/// Whether a rule's `publish` or `through` says something of its files that holds for PnetCDF alone.
bool is_promised_more(const Workflow& workflow, const std::string& writer) {
  return std::ranges::any_of(workflow.files, [&](const workflows::FileRule& rule) {
    return rule.writer == writer && promises_more_than_closes(rule);
  });
}

std::optional<Inspection> inspect_program_of(const Workflow& workflow, const Component& component,
                                             const Environment& environment, KnownPrograms& known) {
  const FoundProgram program = find_program_of(component, environment);
  if (!program.problem.empty()) return std::nullopt;
  Environment started = environment;
  for (const auto& [name, value] : component.environment) started[name] = value;
  const Coupling coupling = coupling_of(workflow, component.name);
  Inspection inspection = inspect_once(program.path, coupling, component, started, known);
  if (coupling == Coupling::reader || coupling == Coupling::writer)
    note_static_programs(component, program.path, started, inspection);
  if (!inspection.may_use_pnetcdf && is_promised_more(workflow, component.name)) {
    for (const NamedProgram& named : find_named_programs(component, program.path, started))
      inspection.may_use_pnetcdf |=
          inspect_once(named.path, Coupling::none, component, started, known).may_use_pnetcdf;
  }
  if (!inspection.mpi && component.ranks > 0) inspection.mpi = search_mpi(component, program.path, started);
  return inspection;
}

}  // namespace

std::optional<Inspection> inspect_program_of(const Workflow& workflow, const Component& component,
                                             const Environment& environment) {
  KnownPrograms none;
  return inspect_program_of(workflow, component, environment, none);
}

void release_static_readers(Workflow& workflow, const Inspections& inspections) {
  for (std::size_t i = 0; i < inspections.size(); ++i) {
    if (!inspections[i] || !inspections[i]->is_static) continue;
    for (workflows::FileRule& rule : workflow.files) {
      if (rule.exposes) std::erase(rule.readers, workflow.components[i].name);
    }
  }
}

namespace {

/// Whether two members of an ensemble have one program.
bool is_same_program(const Component& a, const Component& b, const Environment& environment) {
  if (a.command.front() == b.command.front() && a.directory == b.directory) return true;
  const FoundProgram found = find_program_of(a, environment);
  return found.problem.empty() && found.path == find_program_of(b, environment).path;
}

}  // namespace

Inspections inspect_programs(const Workflow& workflow, const Environment& environment) {
  Inspections inspections;
  KnownPrograms known;
  for (std::size_t i = 0; i < workflow.components.size(); ++i) {
    const Component& component = workflow.components[i];
    const bool is_as_before = component.instance > 0 && inspections.back() &&
                              is_same_program(component, workflow.components[i - 1], environment);
    inspections.push_back(is_as_before ? inspections.back()
                                       : inspect_program_of(workflow, component, environment, known));
  }
  return inspections;
}

namespace {

/// The findings of one kind from all inspections, with the positions of the commands.
std::vector<Mistake> findings_of(const Workflow& workflow, const Inspections& inspections,
                                 std::vector<std::string> Inspection::*kind) {
  std::vector<Mistake> findings;
  for (std::size_t i = 0; i < inspections.size(); ++i) {
    if (!inspections[i] || (i > 0 && workflow.components[i].instance > 0 && inspections[i - 1] &&
                            *inspections[i - 1].*kind == *inspections[i].*kind))
      continue;
    const Component& component = workflow.components[i];
    for (const std::string& text : *inspections[i].*kind)
      findings.push_back(
          {component.command_position, "the program of component '" + component.name + "': " + text});
  }
  return findings;
}

}  // namespace

std::vector<Mistake> find_unfit_programs(const Workflow& workflow, const Inspections& inspections) {
  return findings_of(workflow, inspections, &Inspection::mistakes);
}

std::vector<Mistake> find_program_notes(const Workflow& workflow, const Inspections& inspections) {
  return findings_of(workflow, inspections, &Inspection::notes);
}

std::string find_missing_parts(const Installation& installation) {
  std::string missing;
  if (installation.matcher.empty()) missing = "sluice-matcher";
  if (installation.preload_library.empty())
    missing += (missing.empty() ? "" : " and ") + std::string("libsluice_preload.so");
  if (installation.client_library.empty())
    missing += (missing.empty() ? "" : " and ") + std::string("libsluice_pnetcdf.so");
  if (missing.empty()) return "";
  return missing + " was not found beside '" + installation.program.string() +
         "'\nbuild everything (tools/build), or reinstall Sluice";
}

}  // namespace sluice::coordinator
