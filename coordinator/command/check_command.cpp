#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "colours.hpp"
#include "commands.hpp"
#include "descriptor_limit.hpp"
#include "exit_status.hpp"
#include "flow_argument.hpp"
#include "forecast.hpp"
#include "format.hpp"
#include "installation.hpp"
#include "launcher_choice.hpp"
#include "mpi_launchers.hpp"
#include "notes.hpp"
#include "readiness.hpp"
#include "sluice/formats/near_match.hpp"
#include "sluice/runtime/version.hpp"

namespace sluice::coordinator {
namespace {

namespace program_options = boost::program_options;
using workflows::Component;
using workflows::FileRule;
using workflows::Mistake;
using workflows::Workflow;

/// The findings of a check.
struct Findings {
  std::vector<Mistake> mistakes;
  std::vector<Mistake> notes;
};

/// The lines of a component in the overview.
std::vector<std::string> describe_component(const Component& component,
                                            const std::optional<Inspection>& inspection,
                                            const Environment& environment) {
  const bool is_of_many = !component.ensemble.empty();
  std::vector<std::string> row{
      "  " + (is_of_many ? component.ensemble + " x " + std::to_string(component.instances) : component.name),
      component.ranks == 0 ? "serial" : format_count(static_cast<std::uint64_t>(component.ranks), "rank")};
  if (!inspection) {
    row.push_back(component.command.front());
    return row;
  }
  const std::string mpi = inspection->mpi ? ", " + std::string(name_of(*inspection->mpi)) : "";
  row.push_back(find_program_of(component, environment).path.string() + "  (" + inspection->kind + mpi + ")");
  return row;
}

/// When a component is started, if not with the run: a line below its own; empty otherwise.
std::string describe_start(const Component& component) {
  if (component.starts_when_done) return "starts when the writers of its files have ended";
  if (!component.for_each) return "";
  const std::string each = component.for_each->every == 1
                               ? "each "
                               : "one in " + std::to_string(component.for_each->every) + " of ";
  return "one job for " + each + "'" + component.for_each->pattern + "', at most " +
         std::to_string(component.for_each->at_most) + " at a time";
}

/// The launchers that are there, of each MPI.
std::string describe_launchers(const Environment& environment) {
  std::string text;
  for (const MpiFamily family : {MpiFamily::open_mpi, MpiFamily::mpich}) {
    const MpiLauncher launcher = find_mpi_launcher(family, environment);
    if (launcher.problem.empty()) text += (text.empty() ? "" : ", ") + launcher.version;
  }
  return text.empty() ? "no mpirun" : text;
}

std::string describe_rules(const Workflow& workflow) {
  std::map<std::string, std::string> shown;  // members by the name of their ensemble
  for (const Component& component : workflow.components)
    shown[component.name] = component.ensemble.empty() ? component.name : component.ensemble;
  std::vector<std::vector<std::string>> rows;
  for (const FileRule& rule : workflow.files) {
    if (!rule.family.empty() && !rows.empty() && rows.back().front() == "  " + rule.family) continue;
    std::vector<std::string> readers;
    for (const std::string& reader : rule.readers)
      if (readers.empty() || readers.back() != shown[reader]) readers.push_back(shown[reader]);
    rows.push_back({"  " + (rule.family.empty() ? rule.pattern : rule.family),
                    shown[rule.writer] + " -> " + formats::join(readers)});
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
    std::cout << coloured("no mistakes found", Colour::green, has_colours(STDOUT_FILENO))
              << "\n\nWhat will happen:\n";
    for (const std::string& sentence : foretell(workflow)) std::cout << "- " << sentence << '\n';
    return status_ok;
  }
  std::cerr << "sluice: " << format_count(mistakes, "mistake") << " found\n";
  return status_mistake;
}

}  // namespace

int check_command(const Arguments& arguments) {
  int status = status_ok;
  const auto line = read_flow_command_line(arguments, "check", "Checks the workflow without running it.",
                                           program_options::options_description("Options"), status);
  if (!line) return status;
  auto workflow = read_workflow(line->flow);
  if (!workflow) return status_mistake;
  if (const std::string problem = descriptor_problem(*workflow); !problem.empty()) {
    std::cerr << "sluice: " << problem << '\n';
    return status_mistake;
  }
  Environment environment = current_environment();
  remove_surrounding_job(environment);
  Findings findings;
  const Installation installation = find_installation();
  const Inspections inspections = inspect_programs(*workflow, environment);
  choose_launchers(*workflow, inspections, environment);
  findings.mistakes = find_obstacles(*workflow, environment);
  for (Mistake& mistake : find_mpi_mistakes(*workflow, inspections, installation))
    findings.mistakes.push_back(std::move(mistake));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < inspections.size(); ++i) {
    const Component& component = workflow->components[i];
    if (component.instance != 0) continue;
    rows.push_back(describe_component(component, inspections[i], environment));
    if (std::string start = describe_start(component); !start.empty())
      rows.push_back({"", "", std::move(start)});
  }
  for (Mistake& mistake : find_unfit_programs(*workflow, inspections))
    findings.mistakes.push_back(std::move(mistake));
  findings.notes = find_notes(*workflow, inspections, environment);
  if (auto note = find_log_note(*workflow)) findings.notes.push_back(std::move(*note));
  std::cout << "sluice " << runtime::library_version << ", " << describe_launchers(environment)
            << "\nworkflow " << workflow->name << ": "
            << format_count(workflow->components.size(), "component") << ", "
            << format_count(workflow->files.size(), "file rule") << ", "
            << format_bytes(workflow->memory_bytes) << " of memory\n"
            << format_table(rows, {}) << describe_rules(*workflow);
  return report(*workflow, findings, find_missing_parts(installation));
}

}  // namespace sluice::coordinator
