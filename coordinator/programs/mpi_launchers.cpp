#include "mpi_launchers.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "child_process.hpp"
#include "program_lookup.hpp"

namespace sluice::coordinator {
namespace {

/// What is known of an MPI's launchers.
struct Known {
  std::vector<std::string> names;
  std::vector<std::string> marks;  ///< words of their --version
  std::string package;
};

const Known& known_of(MpiFamily family) {
  static const Known open_mpi{
      {"mpirun", "mpirun.openmpi", "mpiexec.openmpi", "orterun"}, {"Open MPI", "OpenRTE"}, "openmpi-bin"};
  static const Known mpich{{"mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "mpiexec", "mpirun"},
                           {"HYDRA", "Intel(R) MPI"},
                           "mpich"};
  return family == MpiFamily::open_mpi ? open_mpi : mpich;
}

std::string version_of(const std::string& program, const Environment& environment) {
  ChildOptions child;
  child.program = program;
  child.arguments = {program, "--version"};
  child.environment = environment;
  return output_of(std::move(child));
}

/// The line of the version's text that says what the launcher is; empty if it is of another MPI. HYDRA's
/// number is on a line of its own.
std::string own_version(const std::string& text, const Known& known) {
  std::istringstream lines(text);
  std::string version;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (version.empty() && std::ranges::any_of(known.marks, [&](const std::string& mark) {
          return line.find(mark) != std::string::npos;
        })) {
      version = line.substr(begin);
    } else if (!version.empty() && line.find("Version:") != std::string::npos) {
      version =
          "HYDRA " + line.substr(std::min(line.find_first_not_of(" \t", line.find(':') + 1), line.size()));
      break;
    }
  }
  return version;
}

}  // namespace

MpiLauncher find_mpi_launcher(MpiFamily family, const Environment& environment) {
  const Known& known = known_of(family);
  const auto path = environment.find("PATH");
  const std::string searched = path == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
  std::string others;
  for (const std::string& name : known.names) {
    if (!find_program(name, "/", searched).problem.empty()) continue;
    const std::string text = version_of(name, environment);
    if (std::string version = own_version(text, known); !version.empty()) return {name, version, ""};
    others += (others.empty() ? "" : ", ") + name + ": " + text.substr(0, text.find('\n'));
  }
  const std::string mpi(name_of(family));
  return {"", "",
          (others.empty() ? known.names.front() + " was not found in PATH"
                          : "the launcher in PATH (" + others + ") is not one of " + mpi) +
              ": install " + mpi + " (Debian: " + known.package + "), or add it to PATH"};
}

}  // namespace sluice::coordinator
