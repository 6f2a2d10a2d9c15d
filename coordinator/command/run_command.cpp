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
#include "sluice/workflows/variants.hpp"

namespace sluice::coordinator {

namespace program_options = boost::program_options;
using workflows::Mistake;
using workflows::Workflow;

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

/// The command line of `sluice run`, as it was written.
struct RunSettings {
  int notice_after = 30;
  int ready_timeout = 30;
  int end_timeout = 20;
  std::string log_directory;
  std::string progress = "auto";
  std::string stop_before;
  std::string time_limit;
  bool without_logs = false;
  bool through_files = false;
};

program_options::options_description options_for(RunSettings& settings) {
  program_options::options_description options("Options");
  const auto number = [](int& value) { return program_options::value(&value)->default_value(value); };
  options.add_options()  //
      ("log-dir", program_options::value(&settings.log_directory),
       "for the run's log (default: .sluice/NAME-DATE-PID beside FLOW)")  //
      ("notice-after", number(settings.notice_after),
       "report a wait after this many seconds")  //
      ("ready-timeout", number(settings.ready_timeout),
       "end the run if matchers are not ready after so many seconds; 0: never")  //
      ("end-timeout", number(settings.end_timeout),
       "end matchers and mpiruns that go on so many seconds longer than theirs; 0: never")  //
      ("resume", "go on where the last run of the workflow ended")                          //
      ("without-logs", program_options::bool_switch(&settings.without_logs),
       "with --resume: go on where logs are elsewhere or may be damaged; their files count as lost")  //
      ("stop-before", program_options::value(&settings.stop_before)->value_name("TIME"),
       "stop so long before the batch job ends, for a later --resume: 5min")  //
      ("time-limit", program_options::value(&settings.time_limit)->value_name("TIME"),
       "the run's time, where no batch system tells it: 12h")  //
      ("through-files", program_options::bool_switch(&settings.through_files),
       "pass all data through files on disk, to compare")  //
      ("progress", program_options::value(&settings.progress)->default_value(settings.progress),
       "auto (a table on a terminal, else lines), lines, json, none")  //
      ("quiet,q", "print the components' output and errors only")      //
      ("verbose,v", "print every event");
  return options;
}

/// What the settings say, but for the former run. Prints a mistake, and then returns nothing.
std::optional<RunOptions> understand(const RunSettings& settings,
                                     const program_options::variables_map& values) {
  if (settings.notice_after < 1) {
    std::cerr << "sluice run: --notice-after is " << settings.notice_after
              << "\nit must be a number of seconds from 1\n";
    return std::nullopt;
  }
  if (settings.ready_timeout < 0 || settings.end_timeout < 0) {
    std::cerr << "sluice run: --ready-timeout and --end-timeout are numbers of seconds from 0\n";
    return std::nullopt;
  }
  const auto form = form_of(settings.progress);
  if (!form) {
    std::cerr << "sluice run: --progress is '" << settings.progress
              << "'\nit must be auto, lines, json or none\n";
    return std::nullopt;
  }
  RunOptions options;
  if (!read_limits(settings.stop_before, settings.time_limit, options)) return std::nullopt;
  options.log_directory = settings.log_directory;
  options.resumes_without_logs = settings.without_logs;
  options.console = {values.count("quiet") != 0, values.count("verbose") != 0, *form};
  options.notice_after = std::chrono::seconds(settings.notice_after);
  options.ready_timeout = std::chrono::seconds(settings.ready_timeout);
  options.end_timeout = std::chrono::seconds(settings.end_timeout);
  return options;
}

/// The run that this one goes on with. Sets `status` and returns nothing where there is nothing to do.
std::optional<FormerRun> run_to_resume(const Workflow& workflow, const RunSettings& settings, int& status) {
  try {
    FormerRun former = find_former_run(workflow, settings.log_directory, patience_with_former_run);
    if (!former.has_ended_well()) return former;
    std::cout << "sluice run: the last run of '" << workflow.name
              << "' has ended well, so there is nothing to resume (log: " << former.log_directory.string()
              << ")\n";
    status = status_ok;
  } catch (const Error& error) {
    std::cerr << "sluice run: " << error.what() << '\n';
    status = status_mistake;
  }
  return std::nullopt;
}

/// Starts the run, unless something stands in its way, which is printed.
int start_run(Workflow& workflow, RunOptions& options, const std::optional<FormerRun>& former) {
  Environment environment = current_environment();
  remove_surrounding_job(environment);
  const Installation installation = find_installation();
  const Inspections inspections = inspect_programs(workflow, environment);
  choose_launchers(workflow, inspections, environment);
  auto obstacles = find_obstacles(workflow, environment);
  for (Mistake& mistake : find_mpi_mistakes(workflow, inspections, installation))
    obstacles.push_back(std::move(mistake));
  JobNodes nodes;
  if (obstacles.empty()) nodes = find_job_nodes(workflow, environment, obstacles);
  if (!obstacles.empty()) {
    print_findings(workflow, obstacles, "");
    return status_mistake;
  }
  if (const std::string missing = find_missing_parts(installation); !missing.empty()) {
    std::cerr << "sluice: " << missing << '\n';
    return status_runtime_failure;
  }
  if (former) {
    try {
      options.restoration = restore(*former, workflow, options.resumes_without_logs);
    } catch (const Error& error) {
      std::cerr << "sluice run: the run cannot be resumed: " << error.what() << '\n';
      return status_runtime_failure;
    }
  }
  print_findings(workflow, find_unfit_programs(workflow, inspections), "warning: ");
  if (!options.console.quiet)
    print_findings(workflow, find_notes(workflow, inspections, environment), "note: ");
  release_static_readers(workflow, inspections);
  return Run(workflow, installation, options, nodes).execute();
}

}  // namespace

int run_command(const Arguments& arguments) {
  RunSettings settings;
  int status = status_ok;
  const auto line =
      read_flow_command_line(arguments, "run", "Starts the components of a workflow and couples them.",
                             options_for(settings), status);
  if (!line) return status;
  auto options = understand(settings, line->options);
  if (!options) return status_mistake;
  auto workflow = read_workflow(line->flow);
  if (!workflow) return status_mistake;
  if (settings.through_files) workflows::pass_through_files(*workflow);
  std::optional<FormerRun> former;
  if (line->options.count("resume") != 0) {
    former = run_to_resume(*workflow, settings, status);
    if (!former) return status;
  }
  set_resume_number(*workflow, former ? former->resumes + 1 : 0);
  if (const std::string problem = descriptor_problem(*workflow); !problem.empty()) {
    std::cerr << "sluice: " << problem << '\n';
    return status_mistake;
  }
  return start_run(*workflow, *options, former);
}

}  // namespace sluice::coordinator
