#include "notes.hpp"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "format.hpp"
#include "launch.hpp"
#include "log_directory.hpp"
#include "slip_notes.hpp"
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

/// For glob(): what means something in a pattern is any one character.
std::string literal_path(const fs::path& path) {
  std::string text = path.string();
  std::ranges::replace_if(
      text, [](char c) { return c == '*' || c == '[' || c == ']' || c == '\\'; }, '?');
  return text;
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

/// Files that are there before the run, at places where the components look first for files of the rule.
std::set<fs::path> old_files_of(const Workflow& workflow, const FileRule& rule) {
  std::set<fs::path> files;
  std::set<fs::path> places{fs::absolute(workflow.file).parent_path().lexically_normal()};
  for (const Component& component : workflow.components) {
    const bool uses = component.name == rule.writer ||
                      std::ranges::find(rule.readers, component.name) != rule.readers.end();
    if (uses) places.insert(component.directory);
  }
  const auto parts = std::ranges::count(rule.pattern, '/') + 1;
  for (fs::path place : places) {
    for (auto above = 0; above < parts; ++above, place = place.parent_path()) {
      glob_t found{};
      if (::glob((literal_path(place) + "/" + rule.pattern).c_str(), GLOB_NOSORT, nullptr, &found) == 0)
        for (const char* const path : std::span(found.gl_pathv, found.gl_pathc)) {
          std::error_code error;
          if (fs::is_regular_file(path, error)) files.insert(path);
        }
      ::globfree(&found);
    }
  }
  return files;
}

/// Where files stay on disk, old ones are replaced.
void note_old_files(const Workflow& workflow, std::vector<Mistake>& notes) {
  constexpr std::size_t most_named = 3;
  std::set<std::string> told;
  for (const FileRule& rule : workflow.files) {
    if (rule.is_drained() || matcher::is_in_files(rule.through)) continue;
    if (!rule.family.empty() && told.contains(rule.family)) continue;
    const std::set<fs::path> files = old_files_of(workflow, rule);
    if (files.empty()) continue;
    if (!rule.family.empty()) told.insert(rule.family);
    std::string names;
    std::size_t named = 0;
    for (const fs::path& file : files)
      if (named++ < most_named) names += (names.empty() ? "" : ", ") + shown_path(workflow, file);
    if (files.size() > most_named) names += " and " + std::to_string(files.size() - most_named) + " more";
    notes.push_back({rule.position, "old files are on the disk under '" + rule.pattern + "': " + names +
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
             family_of(launcher_of(workflow, component)) == MpiFamily::mpich;
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
