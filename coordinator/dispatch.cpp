#include <array>
#include <iostream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "sluice/formats/near_match.hpp"
#include "sluice/runtime/version.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* usage = R"(Couples programs that exchange netCDF files, through memory.

  sluice run FLOW             runs a workflow: its components, coupled
  sluice check FLOW           checks all that can be checked without running it
  sluice exec -- PROGRAM …    runs one program with Sluice's PnetCDF, without a workflow
  sluice merge MASTER OUT     writes a dataset in subfiles or blobs as one ordinary file
  sluice recover DIR          brings what burst-buffer logs hold to their netCDF files
  sluice log FILE.meta        prints a burst-buffer log
  sluice COMMAND --help       the options of a command
  sluice --version

Exit status of run: 0 all well; that of the component that failed first (128 + signal
where one killed it); 2 a mistake in the command line or the workflow; 3 the runtime failed.
)";

const std::vector<std::string> later_commands{"graph", "verify", "status", "report"};

struct Command {
  const char* name;
  int (*function)(const Arguments&);
};
constexpr std::array commands{Command{"run", run_command},         Command{"check", check_command},
                              Command{"exec", exec_command},       Command{"merge", merge_command},
                              Command{"recover", recover_command}, Command{"log", log_command}};

int unknown_command(const std::string& name) {
  std::vector<std::string> names = later_commands;
  for (const Command& command : commands) names.emplace_back(command.name);
  std::cerr << "sluice: there is no command '" << name << "'" << formats::suggestion(name, names)
            << "\nsluice --help lists the commands\n";
  return status_mistake;
}

}  // namespace

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) {
    std::cerr << usage;
    return status_mistake;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    std::cout << usage;
    return status_ok;
  }
  if (name == "--version") {
    std::cout << "sluice " << runtime::library_version << '\n';
    return status_ok;
  }
  for (const Command& command : commands) {
    if (name == command.name) return command.function(Arguments(arguments.begin() + 1, arguments.end()));
  }
  for (const std::string& later : later_commands) {
    if (name != later) continue;
    std::cerr << "sluice: the command '" << name
              << "' is not available yet\nthis version has run, check, exec, merge, recover and log\n";
    return status_mistake;
  }
  return unknown_command(name);
}

}  // namespace sluice::coordinator
