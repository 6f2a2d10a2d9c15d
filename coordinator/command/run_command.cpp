#include <iostream>

#include "commands.hpp"
#include "descriptor_limit.hpp"
#include "exit_status.hpp"
#include "flow_argument.hpp"
#include "job_time.hpp"
#include "launcher_choice.hpp"
#include "notes.hpp"
#include "readiness.hpp"
#include "restoration.hpp"
#include "resume_words.hpp"
#include "run.hpp"
#include "run_journal.hpp"
#include "sluice/workflows/duration.hpp"

namespace sluice::coordinator {

namespace program_options = boost::program_options;
using workflows::Mistake;

namespace {

std::optional<ProgressForm> form_of(const std::string& word) {
  if (word == "auto") return ProgressForm::automatic;
  if (word == "lines") return ProgressForm::lines;
  if (word == "json") return ProgressForm::json;
  if (word == "none") return ProgressForm::none;
  return std::nullopt;
}

/// For what is left of a run that was killed.
constexpr std::chrono::seconds patience_with_former_run{20};

std::optional<std::chrono::seconds> read_time(const std::string& option, const std::string& text) {
  const auto time = workflows::parse_duration(text);
  if (time && *time >= std::chrono::seconds(1))
    return std::chrono::duration_cast<std::chrono::seconds>(*time);
  std::cerr << "sluice run: " << option << " is '" << text
            << "'\nit must be a time from one second: 90s, 5min, 2h\n";
  return std::nullopt;
}

/// Fills what the options say of time limits. Returns false after a mistake, which is printed.
bool read_limits(const std::string& stop_before, const std::string& time_limit, RunOptions& options) {
  const Environment environment = current_environment();
  options.is_in_batch_job = is_in_batch_job(environment);
  if (stop_before.empty()) {
    if (!time_limit.empty()) std::cerr << "sluice run: --time-limit is for --stop-before, which is missing\n";
    return time_limit.empty();
  }
  const auto before = read_time("--stop-before", stop_before);
  if (!before) return false;
  options.stop_before = *before;
  if (!time_limit.empty()) {
    options.time_limit = read_time("--time-limit", time_limit);
    return options.time_limit.has_value();
  }
  const JobTime job = find_job_time(environment);
  options.time_limit = job.left;
  if (!job.left)
    std::cerr << "sluice run: --stop-before does not know when the time is over: " << job.problem
              << "\nsay it by --time-limit TIME, counted from now\n";
  return job.left.has_value();
}

}  // namespace

int run_command(const Arguments& arguments) {
  program_options::options_description options("Options");
  int notice_after = 30;
  int ready_timeout = 30;
  int end_timeout = 20;
  std::string log_directory;
  std::string progress = "auto";
  std::string stop_before;
  std::string time_limit;
  options.add_options()  //
      ("log-dir", program_options::value(&log_directory),
       "for the run's log (default: .sluice/NAME-DATE-PID beside FLOW)")  //
      ("notice-after", program_options::value(&notice_after)->default_value(notice_after),
       "report a wait after this many seconds")  //
      ("ready-timeout", program_options::value(&ready_timeout)->default_value(ready_timeout),
       "end the run if matchers are not ready after so many seconds; 0: never")  //
      ("end-timeout", program_options::value(&end_timeout)->default_value(end_timeout),
       "kill matchers that run so many seconds longer than all components; 0: never")  //
      ("resume", "go on where the last run of the workflow ended")                     //
      ("stop-before", program_options::value(&stop_before)->value_name("TIME"),
       "stop so long before the batch job ends, for a later --resume: 5min")  //
      ("time-limit", program_options::value(&time_limit)->value_name("TIME"),
       "the run's time, where no batch system tells it: 12h")  //
      ("progress", program_options::value(&progress)->default_value(progress),
       "auto (a table on a terminal, else lines), lines, json, none")  //
      ("quiet,q", "print the components' output and errors only")      //
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
  const auto form = form_of(progress);
  if (!form) {
    std::cerr << "sluice run: --progress is '" << progress << "'\nit must be auto, lines, json or none\n";
    return status_mistake;
  }
  RunOptions run_options;
  if (!read_limits(stop_before, time_limit, run_options)) return status_mistake;
  auto workflow = read_workflow(line->flow);
  if (!workflow) return status_mistake;
  std::optional<FormerRun> former;
  if (line->options.count("resume") != 0) {
    try {
      former = find_former_run(*workflow, log_directory, patience_with_former_run);
    } catch (const Error& error) {
      std::cerr << "sluice run: " << error.what() << '\n';
      return status_mistake;
    }
    if (former->has_ended_well()) {
      std::cout << "sluice run: the last run of '" << workflow->name
                << "' has ended well, so there is nothing to resume (log: " << former->log_directory.string()
                << ")\n";
      return status_ok;
    }
  }
  set_resume_number(*workflow, former ? former->resumes + 1 : 0);
  if (const std::string problem = descriptor_problem(*workflow); !problem.empty()) {
    std::cerr << "sluice: " << problem << '\n';
    return status_mistake;
  }
  Environment environment = current_environment();
  remove_surrounding_job(environment);
  const Installation installation = find_installation();
  const Inspections inspections = inspect_programs(*workflow, environment);
  choose_launchers(*workflow, inspections, environment);
  auto obstacles = find_obstacles(*workflow, environment);
  for (Mistake& mistake : find_mpi_mistakes(*workflow, inspections, installation))
    obstacles.push_back(std::move(mistake));
  JobNodes nodes;
  if (obstacles.empty()) nodes = find_job_nodes(*workflow, environment, obstacles);
  if (!obstacles.empty()) {
    print_findings(*workflow, obstacles, "");
    return status_mistake;
  }
  if (const std::string missing = find_missing_parts(installation); !missing.empty()) {
    std::cerr << "sluice: " << missing << '\n';
    return status_runtime_failure;
  }
  if (former) {
    try {
      run_options.restoration = restore(*former, *workflow);
    } catch (const Error& error) {
      std::cerr << "sluice run: the run cannot be resumed: " << error.what() << '\n';
      return status_runtime_failure;
    }
  }
  run_options.log_directory = log_directory;
  run_options.console = {line->options.count("quiet") != 0, line->options.count("verbose") != 0, *form};
  print_findings(*workflow, find_unfit_programs(*workflow, inspections), "warning: ");
  if (!run_options.console.quiet) print_findings(*workflow, find_notes(*workflow, inspections), "note: ");
  release_static_readers(*workflow, inspections);
  run_options.notice_after = std::chrono::seconds(notice_after);
  run_options.ready_timeout = std::chrono::seconds(ready_timeout);
  run_options.end_timeout = std::chrono::seconds(end_timeout);
  return Run(*workflow, installation, run_options, nodes, inspections).execute();
}

}  // namespace sluice::coordinator
