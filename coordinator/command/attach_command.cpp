#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <vector>

#include "commands.hpp"
#include "elf_file.hpp"
#include "exit_status.hpp"
#include "installation.hpp"
#include "program_lookup.hpp"
#include "run_choice.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* attach_help = R"(sluice attach [RUN] -- PROGRAM …
Runs a program, such as ncview or python3, that sees the files which RUN has
published as if they were on disk: the newest ones, whenever it opens one. It
sees all other files as ever. The run waits for it in nothing, and it may end at
any time. RUN is the name of a workflow or the number of its run; without it,
the only one.
Example: sluice attach -- ncview wave_0100.nc
)";

/// Why the program would not see the files; empty: it does.
std::string obstacle_of(const std::string& program) {
  const char* const search_path = std::getenv("PATH");
  const FoundProgram found =
      find_program(program, std::filesystem::current_path(), search_path == nullptr ? "" : search_path);
  if (!found.problem.empty()) return found.problem;
  const auto facts = read_elf_facts(found.path);
  if (!facts || !facts->interpreter.empty()) return {};
  return found.path.string() +
         " is statically linked, so it cannot see the run's files: use sluice cp, or give the rule expose: "
         "true";
}

/// LD_PRELOAD has no quoting: then the run has a link to the library.
std::filesystem::path library_for(const RunRecord& run, const Installation& installation) {
  if (installation.files_library.string().find_first_of(" :") == std::string::npos)
    return installation.files_library;
  return run.socket.parent_path() / installation.files_library.filename();
}

void set_environment(const RunRecord& run, const std::filesystem::path& library) {
  const char* const existing = std::getenv("LD_PRELOAD");
  const std::string others = existing != nullptr && *existing != '\0' ? std::string(":") + existing : "";
  for (const std::string_view name : workflows::own_variables) ::unsetenv(std::string(name).c_str());
  ::setenv("LD_PRELOAD", (library.string() + others).c_str(), 1);
  ::setenv("SLUICE_ATTACHED", run.socket.c_str(), 1);
  ::setenv("SLUICE_RULES", run.rules.c_str(), 1);
}

int start(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::signal(SIGXFSZ, SIG_DFL);  // `sluice` ignores this signal
  ::execvp(pointers.front(), pointers.data());
  std::cerr << "sluice attach: '" << words.front() << "' could not be started: " << std::strerror(errno)
            << "\ncheck its name and PATH\n";
  return status_mistake;
}

}  // namespace

int attach_command(const Arguments& arguments) {
  if (prints_help(arguments, attach_help)) return status_ok;
  const auto dashes = std::ranges::find(arguments, "--");
  if (dashes == arguments.end() || dashes - arguments.begin() > 1 || std::next(dashes) == arguments.end()) {
    std::cerr << "sluice attach: a run and a program are expected\nwrite sluice attach [RUN] -- PROGRAM …\n";
    return status_mistake;
  }
  const Installation installation = find_installation();
  if (installation.files_library.empty()) {
    std::cerr << "sluice: libsluice_files.so was not found beside '" << installation.program.string()
              << "'\nbuild everything (tools/build), or reinstall Sluice\n";
    return status_runtime_failure;
  }
  const std::string& program = *std::next(dashes);
  if (const std::string obstacle = obstacle_of(program); !obstacle.empty()) {
    std::cerr << "sluice attach: " << obstacle << '\n';
    return status_mistake;
  }
  const auto run = choose_run("attach", dashes == arguments.begin() ? "" : arguments.front());
  if (!run) return status_mistake;
  set_environment(*run, library_for(*run, installation));
  return start({std::next(dashes), arguments.end()});
}

}  // namespace sluice::coordinator
