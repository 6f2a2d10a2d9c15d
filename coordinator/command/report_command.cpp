#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "log_choice.hpp"
#include "report_page.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* report_help = R"(sluice report [RUN [OTHER]] [-o FILE] [--json|--trace]
Makes a page of what a run has done: graph, timeline by component and rank,
bytes and rates by file, delays from writers to readers, memory, findings. With
OTHER, a page with the figures of both runs side by side.
RUN is a workflow's file or name, or the number of a run, for the last one below
.sluice; or what sluice run names as its log, .sluice/NAME-DATE-PID. Without it:
the last run of this directory.
  -o FILE    writes there; without it to report.html in the log directory, and
             --json and --trace to standard output
  --json     the figures, for programs
  --trace    the timeline for ui.perfetto.dev
Example: sluice report flow.yaml
)";

struct ReportOptions {
  enum class Form { page, json, trace } form = Form::page;
  std::vector<std::string> runs;
  std::string output;
};

int report_mistake(const std::string& text) {
  std::cerr << "sluice report: " << text
            << "\nwrite sluice report [RUN [OTHER]] [-o FILE] [--json|--trace]\n";
  return status_mistake;
}

/// Empty: the options are in order.
std::string read_report_options(const Arguments& arguments, ReportOptions& options) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--json") {
      options.form = ReportOptions::Form::json;
    } else if (argument == "--trace") {
      options.form = ReportOptions::Form::trace;
    } else if (argument == "-o" && i + 1 < arguments.size()) {
      options.output = arguments[++i];
    } else if (argument.starts_with("-")) {
      return argument == "-o" ? "-o needs the name of a file" : "there is no option '" + argument + "'";
    } else {
      options.runs.push_back(argument);
    }
  }
  if (options.runs.empty()) options.runs.emplace_back();
  if (options.runs.size() > 2) return "at most two runs are expected";
  return options.runs.size() == 2 && options.form == ReportOptions::Form::trace ? "a trace is of one run"
                                                                                : "";
}

/// A run as its log has it.
struct LoggedRun {
  std::filesystem::path directory;
  Timeline timeline;
  RunFigures figures;
};

/// Throws Error with the text for the user.
LoggedRun read_run(const std::string& name) {
  LoggedRun run{find_log_directory(name), {}, {}};
  if (run.directory.empty())
    throw Error(NC_ENOENT, "no run of a workflow of this directory has left a log in .sluice");
  try {
    run.timeline = read_timeline(run.directory);
  } catch (const Error& error) {
    throw Error(error.status(), std::string(error.what()) + ": '" + run.directory.string() +
                                    "' is not the log directory of a run");
  }
  return run;
}

int write_out(const std::string& text, const std::string& output) {
  if (output.empty()) {
    std::cout << text << std::flush;
    return status_ok;
  }
  std::ofstream stream(output, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (stream) return status_ok;
  std::cerr << "sluice report: cannot write " << output
            << "\ncheck its directory, or name another file by -o\n";
  return status_runtime_failure;
}

std::string text_of(const ReportOptions& options, const std::vector<LoggedRun>& runs) {
  const LoggedRun& first = runs.front();
  if (options.form == ReportOptions::Form::trace)
    return as_perfetto_trace(first.timeline, first.figures) + "\n";
  if (options.form == ReportOptions::Form::page) {
    if (runs.size() == 1) return as_page(first.timeline, first.figures);
    return as_comparison({&first.timeline, &first.figures}, {&runs[1].timeline, &runs[1].figures});
  }
  const std::string figures = figures_as_json(first.timeline, first.figures);
  if (runs.size() == 1) return figures + "\n";
  return "{\"runs\":[" + figures + "," + figures_as_json(runs[1].timeline, runs[1].figures) + "]}\n";
}

}  // namespace

int report_command(const Arguments& arguments) {
  if (prints_help(arguments, report_help)) return status_ok;
  ReportOptions options;
  if (const std::string problem = read_report_options(arguments, options); !problem.empty())
    return report_mistake(problem);
  std::vector<LoggedRun> runs;
  try {
    for (const std::string& name : options.runs) runs.push_back(read_run(name));
  } catch (const Error& error) {
    return report_mistake(error.what());
  }
  for (LoggedRun& run : runs) run.figures = figures_of(run.timeline);  // which refer to the timeline
  const bool is_page = options.form == ReportOptions::Form::page;
  const std::string name = runs.size() == 1 ? "report.html" : "comparison.html";
  if (is_page && options.output.empty()) options.output = (runs.back().directory / name).string();
  const int status = write_out(text_of(options, runs), options.output);
  if (status == status_ok && is_page) std::cout << options.output << '\n';
  return status;
}

}  // namespace sluice::coordinator
