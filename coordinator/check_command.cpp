#include <algorithm>
#include <iostream>

#include "commands.hpp"
#include "descriptor_limit.hpp"
#include "exit_status.hpp"
#include "flow_argument.hpp"
#include "format.hpp"
#include "installation.hpp"
#include "notes.hpp"
#include "readiness.hpp"
#include "sluice/runtime/version.hpp"

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

/// A component's line of the overview.
std::vector<std::string> describe_component(const Component& component,
                                            const std::optional<Inspection>& inspection,
                                            const Environment& environment) {
  std::vector<std::string> row{
      "  " + component.name,
      component.ranks == 0 ? "serial" : format_count(static_cast<std::uint64_t>(component.ranks), "rank")};
  if (!inspection) {
    row.push_back(component.command.front());
    return row;
  }
  row.push_back(find_program_of(component, environment).path.string() + "  (" + inspection->kind + ")");
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

int report(const Workflow& workflow, Findings& findings, const std::string& missing_parts) {
  std::stable_sort(findings.mistakes.begin(), findings.mistakes.end(),
                   [](const Mistake& a, const Mistake& b) { return a.position.line < b.position.line; });
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
  if (const std::string problem = descriptor_problem(*workflow); !problem.empty()) {
    std::cerr << "sluice: " << problem << '\n';
    return status_mistake;
  }
  Environment environment = current_environment();
  remove_surrounding_job(environment);
  Findings findings;
  findings.mistakes = find_obstacles(*workflow, environment);
  const Inspections inspections = inspect_programs(*workflow, environment);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < inspections.size(); ++i)
    rows.push_back(describe_component(workflow->components[i], inspections[i], environment));
  for (Mistake& mistake : find_unfit_programs(*workflow, inspections))
    findings.mistakes.push_back(std::move(mistake));
  findings.notes = find_notes(*workflow, inspections);
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
