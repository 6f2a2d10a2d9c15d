#include <algorithm>
#include <iostream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "flow_argument.hpp"
#include "format.hpp"
#include "installation.hpp"
#include "launch.hpp"
#include "readiness.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/workflows/usable_memory.hpp"

namespace sluice::coordinator {
namespace {

namespace program_options = boost::program_options;
using workflows::Component;
using workflows::FileRule;
using workflows::Mistake;
using workflows::Workflow;

/// What a check has found.
struct Findings {
  std::vector<Mistake> mistakes;
  std::vector<Mistake> notes;
};

/// A component's line of the overview; what there is to say about its program goes to `findings`.
std::vector<std::string> inspect_component(const Workflow& workflow, const Component& component,
                                           const Environment& environment, Findings& findings) {
  std::vector<std::string> row{
      "  " + component.name,
      component.ranks == 0 ? "serial" : format_count(static_cast<std::uint64_t>(component.ranks), "rank")};
  const auto inspection = inspect_program_of(workflow, component, environment);
  if (!inspection) {
    row.push_back(component.command.front());
    return row;
  }
  row.push_back(find_program_of(component, environment).path.string() + "  (" + inspection->kind + ")");
  for (const std::string& note : inspection->notes)
    findings.notes.push_back(
        {component.command_position, "the program of component '" + component.name + "': " + note});
  return row;
}

std::string describe_rules(const Workflow& workflow) {
  std::vector<std::vector<std::string>> rows;
  for (const FileRule& rule : workflow.files) {
    std::string readers;
    for (const std::string& reader : rule.readers) readers += (readers.empty() ? "" : ", ") + reader;
    rows.push_back({"  " + rule.pattern, rule.writer + " -> " + readers});
  }
  return format_table(rows, {});
}

void note_structure(const Workflow& workflow, Findings& findings) {
  for (const Component& component : workflow.components) {
    if (!is_coupled(workflow, component.name))
      findings.notes.push_back({component.position, "no file rule names component '" + component.name +
                                                        "': all of its files are ordinary ones"});
  }
  for (const FileRule& rule : workflow.files) {
    if (rule.readers == std::vector<std::string>{rule.writer})
      findings.notes.push_back({rule.position, "nobody but their writer '" + rule.writer +
                                                   "' reads the files '" + rule.pattern + "'"});
  }
  for (const workflows::Cycle& cycle : workflows::find_cycles(workflow)) {
    std::string way;
    for (const std::string& component : cycle) way += component + " -> ";
    findings.notes.push_back({workflow.components.front().position,
                              "components depend on each other in a cycle, " + way + cycle.front() +
                                  ": one of them must write before it reads"});
  }
}

void note_resources(const Workflow& workflow, Findings& findings) {
  const std::uint64_t usable = workflows::usable_memory_bytes();
  if (workflow.memory_bytes > usable) {
    findings.notes.push_back({workflow.components.front().position,
                              "staging.memory is " + format_bytes(workflow.memory_bytes) + ", but only " +
                                  format_bytes(usable) + " may be used on this machine"});
  }
  const int processes = count_processes(workflow);
  const int cores = usable_cores();
  if (processes > cores) {
    findings.notes.push_back(
        {workflow.components.front().position, std::to_string(processes) + " processes share " +
                                                   format_count(static_cast<std::uint64_t>(cores), "core") +
                                                   ": waits inside MPI will yield"});
  }
}

int report(const Workflow& workflow, Findings& findings, const std::string& missing_parts) {
  const auto in_file_order = [](const Mistake& a, const Mistake& b) {
    return a.position.line < b.position.line;
  };
  std::stable_sort(findings.mistakes.begin(), findings.mistakes.end(), in_file_order);
  std::stable_sort(findings.notes.begin(), findings.notes.end(), in_file_order);
  std::cout.flush();
  print_findings(workflow, findings.notes, "note: ");
  print_findings(workflow, findings.mistakes, "");
  if (!missing_parts.empty()) std::cerr << "sluice: " << missing_parts << '\n';
  const std::size_t mistakes = findings.mistakes.size() + (missing_parts.empty() ? 0 : 1);
  if (mistakes == 0) {
    std::cout << "no mistakes found\n";
    return status_ok;
  }
  std::cerr << "sluice: " << format_count(mistakes, "mistake") << " found\n";
  return status_mistake;
}

}  // namespace

int check_command(const Arguments& arguments) {
  int status = status_ok;
  const auto line = read_flow_command_line(arguments, "check",
                                           "Checks all that can be checked without running the workflow.",
                                           program_options::options_description("Options"), status);
  if (!line) return status;
  const auto workflow = read_workflow(line->flow);
  if (!workflow) return status_mistake;
  Environment environment = current_environment();
  remove_surrounding_job(environment);
  Findings findings;
  findings.mistakes = find_obstacles(*workflow, environment);
  std::vector<std::vector<std::string>> rows;
  for (const Component& component : workflow->components)
    rows.push_back(inspect_component(*workflow, component, environment, findings));
  for (Mistake& mistake : find_unfit_programs(*workflow, environment))
    findings.mistakes.push_back(std::move(mistake));
  note_structure(*workflow, findings);
  note_resources(*workflow, findings);
  const std::string launcher = launcher_version(environment);
  std::cout << "sluice " << runtime::library_version << ", " << (launcher.empty() ? "no mpirun" : launcher)
            << "\nworkflow " << workflow->name << ": "
            << format_count(workflow->components.size(), "component") << ", "
            << format_count(workflow->files.size(), "file rule") << ", "
            << format_bytes(workflow->memory_bytes) << " of memory\n"
            << format_table(rows, {}) << describe_rules(*workflow);
  return report(*workflow, findings, find_missing_parts(find_installation()));
}

}  // namespace sluice::coordinator
