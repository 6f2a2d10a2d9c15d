#include <iostream>

#include "commands.hpp"
#include "descriptor_limit.hpp"
#include "exit_status.hpp"
#include "flow_argument.hpp"
#include "notes.hpp"
#include "readiness.hpp"
#include "run.hpp"

namespace sluice::coordinator {

namespace program_options = boost::program_options;

int run_command(const Arguments& arguments) {
  program_options::options_description options("Options");
  int notice_after = 30;
  int ready_timeout = 30;
  int end_timeout = 20;
  std::string log_directory;
  options.add_options()  //
      ("log-dir", program_options::value(&log_directory),
       "directory for the run's log (default: .sluice/NAME-DATE-PID beside FLOW)")  //
      ("notice-after", program_options::value(&notice_after)->default_value(notice_after),
       "tell of a wait when it has lasted so many seconds")  //
      ("ready-timeout", program_options::value(&ready_timeout)->default_value(ready_timeout),
       "end the run when the matchers are not ready after so many seconds; 0: never")  //
      ("end-timeout", program_options::value(&end_timeout)->default_value(end_timeout),
       "end them when they have not ended so many seconds after the components; 0: never")  //
      ("quiet,q", "print the components' output and errors only")                           //
      ("verbose,v", "print every event");
  int status = status_ok;
  const auto line = read_flow_command_line(
      arguments, "run", "Starts the components of a workflow and couples them.", options, status);
  if (!line) return status;
  if (notice_after < 1) {
    std::cerr << "sluice run: --notice-after is " << notice_after
              << "\nit must be a number of seconds from 1\n";
    return status_mistake;
  }
  if (ready_timeout < 0 || end_timeout < 0) {
    std::cerr << "sluice run: --ready-timeout and --end-timeout are numbers of seconds from 0\n";
    return status_mistake;
  }
  const auto workflow = read_workflow(line->flow);
  if (!workflow) return status_mistake;
  if (const std::string problem = descriptor_problem(*workflow); !problem.empty()) {
    std::cerr << "sluice: " << problem << '\n';
    return status_mistake;
  }
  Environment environment = current_environment();
  remove_surrounding_job(environment);
  auto obstacles = find_obstacles(*workflow, environment);
  JobNodes nodes;
  if (obstacles.empty()) nodes = find_job_nodes(*workflow, environment, obstacles);
  if (!obstacles.empty()) {
    print_findings(*workflow, obstacles, "");
    return status_mistake;
  }
  const Installation installation = find_installation();
  if (const std::string missing = find_missing_parts(installation); !missing.empty()) {
    std::cerr << "sluice: " << missing << '\n';
    return status_runtime_failure;
  }
  RunOptions run_options;
  run_options.log_directory = log_directory;
  run_options.console = {line->options.count("quiet") != 0, line->options.count("verbose") != 0};
  const Inspections inspections = inspect_programs(*workflow, environment);
  print_findings(*workflow, find_unfit_programs(*workflow, inspections), "warning: ");
  if (!run_options.console.quiet) print_findings(*workflow, find_notes(*workflow, inspections), "note: ");
  run_options.notice_after = std::chrono::seconds(notice_after);
  run_options.ready_timeout = std::chrono::seconds(ready_timeout);
  run_options.end_timeout = std::chrono::seconds(end_timeout);
  return Run(*workflow, installation, run_options, nodes, inspections).execute();
}

}  // namespace sluice::coordinator
