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

constexpr const char* report_help = R"(sluice report [RUN] [-o FILE] [--json|--trace]
Makes a page of what a run has done: graph, timeline by component and rank,
bytes and rates by file, memory, findings. RUN is a workflow's file or name, or
the number of a run, for the last one below .sluice; or what sluice run names
as its log, .sluice/NAME-DATE-PID. Without it: the last run of this directory.
  -o FILE    writes there; without it to report.html in the log directory, and
             --json and --trace to standard output
  --json     the figures, for programs
  --trace    the timeline for ui.perfetto.dev
Example: sluice report flow.yaml
)";

struct ReportOptions {
  enum class Form { page, json, trace } form = Form::page;
  std::string run;
  std::filesystem::path directory;  ///< of its log
  std::string output;
};

int report_mistake(const std::string& text) {
  std::cerr << "sluice report: " << text << "\nwrite sluice report [RUN] [-o FILE] [--json|--trace]\n";
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
    } else if (!options.run.empty()) {
      return "one run is expected";
    } else {
      options.run = argument;
    }
  }
  options.directory = find_log_directory(options.run);
  return options.directory.empty() ? "no run of a workflow of this directory has left a log in .sluice" : "";
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

}  // namespace

int report_command(const Arguments& arguments) {
  if (prints_help(arguments, report_help)) return status_ok;
  ReportOptions options;
  if (const std::string problem = read_report_options(arguments, options); !problem.empty())
    return report_mistake(problem);
  Timeline timeline;
  try {
    timeline = read_timeline(options.directory);
  } catch (const Error& error) {
    return report_mistake(std::string(error.what()) + ": '" + options.directory.string() +
                          "' is not the log directory of a run");
  }
  if (options.form == ReportOptions::Form::trace)
    return write_out(as_perfetto_trace(timeline) + "\n", options.output);
  const RunFigures figures = figures_of(timeline);
  if (options.form == ReportOptions::Form::json)
    return write_out(figures_as_json(timeline, figures) + "\n", options.output);
  const std::string page =
      options.output.empty() ? (options.directory / "report.html").string() : options.output;
  const int status = write_out(as_page(timeline, figures), page);
  if (status == status_ok) std::cout << page << '\n';
  return status;
}

}  // namespace sluice::coordinator
