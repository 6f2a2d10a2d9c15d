#include "notes.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "files_on_disk.hpp"
#include "format.hpp"
#include "launch.hpp"
#include "log_directory.hpp"
#include "readiness.hpp"
#include "slip_notes.hpp"
#include "sluice/formats/near_match.hpp"
#include "sluice/workflows/usable_memory.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::FileRule;
using workflows::Mistake;
using workflows::Workflow;
namespace fs = std::filesystem;

/// By component: its name in the workflow file. Members of an ensemble share theirs.
std::map<std::string, std::string> shown_names(const Workflow& workflow) {
  std::map<std::string, std::string> names;
  for (const Component& component : workflow.components)
    names[component.name] = component.ensemble.empty() ? component.name : component.ensemble;
  return names;
}

/// Relative to the workflow file's directory where it is below that.
std::string shown_path(const Workflow& workflow, const fs::path& file) {
  const fs::path relative = file.lexically_relative(fs::absolute(workflow.file).parent_path());
  return relative.empty() || relative.string().starts_with("..") ? file.string() : relative.string();
}

void note_structure(const Workflow& workflow, std::vector<Mistake>& notes) {
  const std::map<std::string, std::string> names = shown_names(workflow);
  std::set<std::string> told;  // of the members of an ensemble, one note
  const auto note = [&](workflows::Position position, const std::string& text) {
    if (told.insert(text).second) notes.push_back({position, text});
  };
  for (const Component& component : workflow.components) {
    if (!is_coupled(workflow, component.name))
      note(component.position, "no file rule names component '" + names.at(component.name) +
                                   "': all of its files are ordinary ones");
  }
  for (const FileRule& rule : workflow.files) {
    if (rule.readers == std::vector<std::string>{rule.writer})
      note(rule.position, "no component reads the files '" +
                              (rule.family.empty() ? rule.pattern : rule.family) +
                              "', except their writer '" + names.at(rule.writer) + "'");
  }
  for (const workflows::Cycle& cycle : workflows::find_cycles(workflow)) {
    std::string way;
    for (const std::string& component : cycle) way += names.at(component) + " -> ";
    note(workflow.components.front().position, "components depend on each other in a cycle, " + way +
                                                   names.at(cycle.front()) +
                                                   ": one of them must write before it reads");
  }
}

/// What becomes of the promise of a rule when its files are written by the C library.
std::string promise_of(const FileRule& rule) {
  const bool is_shown = rule.has_hyperslabs;
  if (rule.through == matcher::Through::burst_buffer)
    return std::string(
               "'through: burst-buffer' saves such files when they are closed, and at an fsync, and ") +
           "not at HDF5's flush: what was written after that is lost if the program dies. " +
           (is_shown
                ? "What it puts by netCDF is saved at once"
                : "netCDF's own sync() calls no fsync; without 'netcdf: bytes', its puts are saved at once");
  if (rule.publish_at == matcher::PublishAt::sync)
    return std::string(
               "'publish: sync' shows such files when they are closed, and at an fsync. HDF5's flush ") +
           "calls no fsync: nothing is published then. " +
           (is_shown
                ? "What it syncs by netCDF is shown"
                : "Nor does netCDF's own sync(); without 'netcdf: bytes', its files are shown then, too");
  return std::string("'publish: write' shows such files only when they have been closed, not at each write") +
         (is_shown ? "; what it puts by netCDF is shown at once" : "");
}

/// Rules that hold for files of PnetCDF alone, of writers that have no PnetCDF as far as can be seen.
void note_promises(const Workflow& workflow, const Inspections& inspections, std::vector<Mistake>& notes) {
  const std::map<std::string, std::string> names = shown_names(workflow);
  std::set<std::pair<int, std::string>> told;  // of the members of an ensemble, one note
  for (const FileRule& rule : workflow.files) {
    const auto writer = std::ranges::find(workflow.components, rule.writer, &Component::name);
    if (!promises_more_than_closes(rule) || writer == workflow.components.end()) continue;
    const std::string promise = promise_of(rule);
    const auto& program = inspections[static_cast<std::size_t>(writer - workflow.components.begin())];
    if (!program || program->may_use_pnetcdf || !told.insert({rule.position.line, promise}).second) continue;
    notes.push_back({rule.position, "the program of '" + names.at(rule.writer) +
                                        "' seems to write by the C library, because it is " + program->kind +
                                        ". " + promise});
  }
}

/// What is no directory is told elsewhere.
bool may_create_in(const std::filesystem::path& directory) {
  std::error_code error;
  return !std::filesystem::is_directory(directory, error) || ::access(directory.c_str(), W_OK | X_OK) == 0;
}

void note_directories(const Workflow& workflow, std::vector<Mistake>& notes) {
  std::set<std::filesystem::path> told;
  for (const Component& component : workflow.components) {
    if (!is_writer(workflow, component.name) || may_create_in(component.directory)) continue;
    if (!told.insert(component.directory).second) continue;
    notes.push_back({component.position, "component '" + component.name + "' starts in " +
                                             component.directory.string() +
                                             ", where it may not create files: what it writes there has to "
                                             "pass through memory"});
  }
}

/// Where files stay on disk, old ones are replaced.
void note_old_files(const Workflow& workflow, std::vector<Mistake>& notes) {
  constexpr std::size_t most_named = 3;
  std::set<std::string> told;
  for (const FileRule& rule : workflow.files) {
    if (rule.is_drained() || matcher::is_in_files(rule.through)) continue;
    if (!rule.family.empty() && told.contains(rule.family)) continue;
    const std::set<fs::path> files = files_on_disk(workflow, rule);
    if (files.empty()) continue;
    if (!rule.family.empty()) told.insert(rule.family);
    std::vector<std::string> names;
    for (const fs::path& file : files) names.push_back(shown_path(workflow, file));
    notes.push_back({rule.position, "old files are on the disk under '" + rule.pattern +
                                        "': " + formats::join(names, most_named) +
                                        ". A run passes such files through memory and leaves the old ones as "
                                        "they are. Remove them, unless '" +
                                        rule.writer + "' begins with them"});
  }
}

void note_resources(const Workflow& workflow, std::vector<Mistake>& notes) {
  const std::uint64_t usable = workflows::usable_memory_bytes();
  if (workflow.memory_bytes > usable && workflow.memory_bytes / beyond_other_nodes <= usable) {
    notes.push_back({workflow.components.front().position,
                     "staging.memory is " + format_bytes(workflow.memory_bytes) + ", but only " +
                         format_bytes(usable) +
                         " may be used on this machine: the system ends the run when it has used that. "
                         "Lower it, or leave it out for a quarter of the memory"});
  }
  const int processes = count_processes(workflow);
  const int cores = usable_cores();
  if (processes > cores) {
    notes.push_back(
        {workflow.components.front().position, std::to_string(processes) + " processes share " +
                                                   format_count(static_cast<std::uint64_t>(cores), "core") +
                                                   ": processes that wait inside MPI yield their core"});
    const auto of_mpich = std::ranges::find_if(workflow.components, [&](const Component& component) {
      return is_launched(workflow, component) &&
             traits_of(launcher_of(workflow, component)).mpi == MpiFamily::mpich;
    });
    if (of_mpich != workflow.components.end())
      notes.push_back(
          {of_mpich->position, "the ranks of component '" + of_mpich->name +
                                   "' have MPICH, and keep their core while they wait inside MPI: the run "
                                   "is faster with no more processes than cores"});
  }
}

}  // namespace

std::vector<Mistake> find_notes(const Workflow& workflow, const Inspections& inspections,
                                const Environment& environment) {
  std::vector<Mistake> notes = find_program_notes(workflow, inspections);
  std::ranges::move(find_slips(workflow, inspections, environment), std::back_inserter(notes));
  note_structure(workflow, notes);
  note_promises(workflow, inspections, notes);
  note_directories(workflow, notes);
  note_old_files(workflow, notes);
  note_resources(workflow, notes);
  std::stable_sort(notes.begin(), notes.end(),
                   [](const Mistake& a, const Mistake& b) { return a.position.line < b.position.line; });
  return notes;
}

std::optional<Mistake> find_log_note(const Workflow& workflow) {
  std::error_code error;
  std::filesystem::path place = logs_beside(workflow.file);
  if (!std::filesystem::exists(place, error)) place = place.parent_path();
  if (may_create_in(place)) return std::nullopt;
  return Mistake{workflow.components.front().position,
                 "you may not create files in " + place.string() +
                     ": name another place for the log of a run with 'sluice run --log-dir'"};
}

}  // namespace sluice::coordinator
