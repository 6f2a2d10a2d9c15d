#include "notes.hpp"

#include <algorithm>

#include "format.hpp"
#include "launch.hpp"
#include "sluice/workflows/usable_memory.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::FileRule;
using workflows::Mistake;
using workflows::Workflow;

void note_programs(const Workflow& workflow, const Inspections& inspections, std::vector<Mistake>& notes) {
  for (std::size_t i = 0; i < inspections.size(); ++i) {
    if (!inspections[i]) continue;
    const Component& component = workflow.components[i];
    for (const std::string& note : inspections[i]->notes)
      notes.push_back(
          {component.command_position, "the program of component '" + component.name + "': " + note});
  }
}

void note_structure(const Workflow& workflow, std::vector<Mistake>& notes) {
  for (const Component& component : workflow.components) {
    if (!is_coupled(workflow, component.name))
      notes.push_back({component.position, "no file rule names component '" + component.name +
                                               "': all of its files are ordinary ones"});
  }
  for (const FileRule& rule : workflow.files) {
    if (rule.readers == std::vector<std::string>{rule.writer})
      notes.push_back({rule.position, "nobody but their writer '" + rule.writer + "' reads the files '" +
                                          rule.pattern + "'"});
  }
  for (const workflows::Cycle& cycle : workflows::find_cycles(workflow)) {
    std::string way;
    for (const std::string& component : cycle) way += component + " -> ";
    notes.push_back({workflow.components.front().position, "components depend on each other in a cycle, " +
                                                               way + cycle.front() +
                                                               ": one of them must write before it reads"});
  }
}

void note_resources(const Workflow& workflow, std::vector<Mistake>& notes) {
  const std::uint64_t usable = workflows::usable_memory_bytes();
  if (workflow.memory_bytes > usable) {
    notes.push_back({workflow.components.front().position,
                     "staging.memory is " + format_bytes(workflow.memory_bytes) + ", but only " +
                         format_bytes(usable) + " may be used on this machine"});
  }
  const int processes = count_processes(workflow);
  const int cores = usable_cores();
  if (processes > cores) {
    notes.push_back(
        {workflow.components.front().position, std::to_string(processes) + " processes share " +
                                                   format_count(static_cast<std::uint64_t>(cores), "core") +
                                                   ": waits inside MPI will yield"});
  }
}

}  // namespace

std::vector<Mistake> find_notes(const Workflow& workflow, const Inspections& inspections) {
  std::vector<Mistake> notes;
  note_programs(workflow, inspections, notes);
  note_structure(workflow, notes);
  note_resources(workflow, notes);
  std::stable_sort(notes.begin(), notes.end(),
                   [](const Mistake& a, const Mistake& b) { return a.position.line < b.position.line; });
  return notes;
}

}  // namespace sluice::coordinator
