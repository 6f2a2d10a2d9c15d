#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "commands.hpp"
#include "exit_status.hpp"
#include "manual_pages.hpp"
#include "other_host.hpp"
#include "sluice/formats/near_match.hpp"
#include "sluice/runtime/version.hpp"

namespace sluice::coordinator {
namespace {

struct Command {
  std::string_view name, arguments, summary;
  int (*function)(const Arguments&);
  bool looks = false;  ///< into a run that goes on, so it may do so on another host: --via
};
/// In the order of the usage, the manual page and completion.
constexpr std::array commands{
    Command{"init", "\"COMMAND\" …", "writes a first workflow for these programs", init_command},
    Command{"run", "FLOW", "runs a workflow: its components, coupled", run_command},
    Command{"check", "FLOW", "checks the workflow without running it", check_command},
    Command{"ls", "[RUN]", "lists the runs, and what one has published", ls_command, true},
    Command{"status", "[RUN]", "says what a run does, and who waits for whom", status_command, true},
    Command{"serve", "[RUN]", "shows a run and its fields in the browser", serve_command},
    Command{"cp", "RUN:FILE DEST", "copies a published file to disk", cp_command, true},
    Command{"attach", "[RUN] -- PROGRAM", "runs a program that sees the files of a run", attach_command,
            true},
    Command{"graph", "FLOW", "prints components and the files between them", graph_command},
    Command{"report", "[RUN]", "makes a page of what a run has done", report_command},
    Command{"runs", "[WHERE]", "lists runs, also those that have ended", runs_command},
    Command{"clean", "[WHERE]", "removes old logs of runs that have ended", clean_command},
    Command{"verify", "FLOW", "compares a run by memory with one by files", verify_command},
    Command{"schema", "", "prints the schema of workflows, for editors", schema_command},
    Command{"exec", "-- PROGRAM", "runs one program with Sluice's PnetCDF alone", exec_command},
    Command{"merge", "MASTER OUT", "writes subfiles or blobs as one ordinary file", merge_command},
    Command{"recover", "DIR", "puts burst-buffer logs into netCDF files", recover_command},
    Command{"log", "FILE.meta", "prints a burst-buffer log", log_command},
    Command{"import-dtf", "FILE.ini", "writes the workflow of a DTF configuration", import_dtf_command}};

std::string usage() {
  std::string text = "Couples programs that exchange netCDF files: the files pass through memory.\n\n";
  constexpr std::size_t width = 34;
  for (const Command& command : commands) {
    std::string call = "  sluice " + std::string(command.name) + " " + std::string(command.arguments);
    const bool has_dots = call.find("…") != std::string::npos;  // three bytes, one character
    call.resize(std::max(call.size() + 1, width + (has_dots ? 2 : 0)), ' ');
    text += call + std::string(command.summary) + "\n";
  }
  return text +
         "  sluice COMMAND --help           its options, with an example; sluice --version\n\n"
         "Exit status of run: 0 success, 2 a mistake, 3 the runtime; else the component's.\n";
}

/// What the command prints for --help.
std::string help_of(const Command& command) {
  std::ostringstream text;
  std::streambuf* const usual = std::cout.rdbuf(text.rdbuf());
  (void)command.function({"--help"});
  std::cout.rdbuf(usual);
  return text.str();
}

int print_manual() {
  std::vector<CommandHelp> helps;
  for (const Command& command : commands) helps.push_back({std::string(command.name), help_of(command)});
  std::cout << command_manual(usage(), helps);
  return status_ok;
}

int unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  // What the same is called elsewhere, and here.
  constexpr std::array<std::array<std::string_view, 2>, 15> other_words{{{"-v", "--version"},
                                                                         {"-V", "--version"},
                                                                         {"version", "--version"},
                                                                         {"start", "run"},
                                                                         {"exec", "run"},
                                                                         {"submit", "run"},
                                                                         {"validate", "check"},
                                                                         {"lint", "check"},
                                                                         {"top", "status"},
                                                                         {"watch", "status"},
                                                                         {"ps", "status"},
                                                                         {"cat", "cp"},
                                                                         {"events", "log"},
                                                                         {"import", "import-dtf"},
                                                                         {"new", "init"}}};
  const auto meant = std::ranges::find_if(other_words, [&](const auto& words) { return words[0] == name; });
  std::cerr << "sluice: there is no command '" << name << "'"
            << (meant != other_words.end() ? ": did you mean '" + std::string((*meant)[1]) + "'?"
                                           : formats::suggestion(name, names))
            << (name == "kill" || name == "stop" ? ": ^C in the terminal of 'sluice run' ends it" : "")
            << "\nsluice --help lists the commands\n";
  return status_mistake;
}

int run(const Command& command, Arguments arguments) {
  std::optional<std::string> host;
  try {
    if (command.looks) host = take_host(arguments);
  } catch (const std::invalid_argument& mistake) {
    std::cerr << "sluice " << command.name << ": " << mistake.what() << '\n';
    return status_mistake;
  }
  if (!host) return command.function(arguments);
  arguments.insert(arguments.begin(), std::string(command.name));
  return go_to(*host, arguments);
}

}  // namespace

bool prints_help(const Arguments& arguments, std::string_view help) {
  const bool is_asked = !arguments.empty() && (arguments.front() == "--help" || arguments.front() == "-h");
  if (is_asked) std::cout << help;
  return is_asked;
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) {
    std::cerr << usage();
    return status_mistake;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    std::cout << usage();
    return status_ok;
  }
  if (name == "--manual") return print_manual();
  if (name == "--version") {
    std::cout << "sluice " << runtime::library_version << '\n';
    return status_ok;
  }
  for (const Command& command : commands) {
    if (name == command.name) return run(command, Arguments(arguments.begin() + 1, arguments.end()));
  }
  return unknown_command(name);
}

}  // namespace sluice::coordinator
