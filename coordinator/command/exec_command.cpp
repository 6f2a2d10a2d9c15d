#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "exit_status.hpp"
#include "installation.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

int exec_command(const Arguments& arguments) {
  Arguments words = arguments;
  if (!words.empty() && (words.front() == "--help" || words.front() == "-h")) {
    std::cout << "sluice exec -- PROGRAM …\nRuns one program with Sluice's PnetCDF in place of its own, "
                 "without a\nworkflow: all files are ordinary files.\n"
                 "Example: mpirun -n 4 sluice exec -- ./model in.nml\n";
    return status_ok;
  }
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  if (words.empty()) {
    std::cerr << "sluice exec: no program was given\nwrite sluice exec -- PROGRAM …\n";
    return status_mistake;
  }
  const Installation installation = find_installation();
  if (installation.preload_library.empty()) {
    std::cerr << "sluice: libsluice_preload.so was not found beside '" << installation.program.string()
              << "'\nbuild everything (tools/build), or reinstall Sluice\n";
    return status_runtime_failure;
  }
  const char* const existing = std::getenv("LD_PRELOAD");
  const std::string preload = installation.preload_library.string() +
                              (existing != nullptr && *existing != '\0' ? std::string(":") + existing : "");
  ::setenv("LD_PRELOAD", preload.c_str(), 1);
  for (const std::string_view name : workflows::own_variables) ::unsetenv(std::string(name).c_str());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::signal(SIGXFSZ, SIG_DFL);  // `sluice` ignores this signal
  ::execvp(pointers.front(), pointers.data());
  std::cerr << "sluice exec: '" << words.front() << "' could not be started: " << std::strerror(errno)
            << "\ncheck its name and PATH\n";
  return status_mistake;
}

}  // namespace sluice::coordinator
