#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "launcher_choice.hpp"
#include "mpi_family.hpp"
#include "mpi_launchers.hpp"

using namespace sluice::coordinator;
using sluice::workflows::Component;
using sluice::workflows::FileRule;
using sluice::workflows::Launcher;
using sluice::workflows::Workflow;
namespace fs = std::filesystem;

namespace {

/// A PATH with launchers that print these versions, by their names.
Environment path_with(const std::vector<std::pair<std::string, std::string>>& versions) {
  const fs::path directory = fs::current_path() / "launchers";
  fs::remove_all(directory);
  fs::create_directories(directory);
  for (const auto& [name, version] : versions) {
    std::ofstream(directory / name) << "#!/bin/sh\nprintf '" << version << "'\n";
    ::chmod((directory / name).c_str(), 0755);
  }
  return {{"PATH", directory.string()}};
}

constexpr const char* hydra =
    "HYDRA build details:\\n    Version:            4.0.2\\n    Release Date:  x\\n";

Workflow flow_of(std::vector<Launcher> launchers) {
  Workflow workflow;
  for (Launcher& launcher : launchers) {
    Component& component = workflow.components.emplace_back();
    component.name = "c" + std::to_string(workflow.components.size());
    component.ranks = 2;
    component.launcher = std::move(launcher);
  }
  return workflow;
}

Inspection with(std::optional<MpiFamily> mpi) {
  Inspection inspection;
  inspection.mpi = mpi;
  inspection.is_mpi_linked = mpi.has_value();
  return inspection;
}

}  // namespace

TEST_CASE("the MPI of a program follows from the names of its libraries") {
  CHECK(find_mpi_family({"libm.so.6", "libmpi.so.40"}) == MpiFamily::open_mpi);
  CHECK(find_mpi_family({"libmpi.so.20"}) == MpiFamily::open_mpi);
  CHECK(find_mpi_family({"libmpich.so.12", "libc.so.6"}) == MpiFamily::mpich);
  CHECK(find_mpi_family({"libmpichfort.so.12"}) == MpiFamily::mpich);
  CHECK(find_mpi_family({"libmpi.so.12", "libmpifort.so.12"}) == MpiFamily::mpich);  // Intel MPI, MVAPICH
  CHECK(find_mpi_family({"libmpi_cray.so.12"}) == MpiFamily::mpich);
  CHECK(find_mpi_family({"libmpi.so.12", "libopen-rte.so.12"}) == MpiFamily::open_mpi);  // Open MPI 1.10
  CHECK_FALSE(find_mpi_family({"libc.so.6", "libsimpi.so.1"}).has_value());
  CHECK_FALSE(find_mpi_family({}).has_value());
}

TEST_CASE("a launcher is found by what it says, under whatever name") {
  const Environment both =
      path_with({{"mpirun", hydra}, {"mpirun.openmpi", "mpirun.openmpi (OpenRTE) 4.1.4\\n"}});
  CHECK(find_mpi_launcher(MpiFamily::open_mpi, both).program == "mpirun.openmpi");
  CHECK(find_mpi_launcher(MpiFamily::open_mpi, both).version == "mpirun.openmpi (OpenRTE) 4.1.4");
  CHECK(find_mpi_launcher(MpiFamily::mpich, both).program == "mpirun");
  CHECK(find_mpi_launcher(MpiFamily::mpich, both).version == "HYDRA 4.0.2");
}

TEST_CASE("a launcher that is missing, or that belongs to another MPI, is told with what to install") {
  const Environment one = path_with({{"mpirun", "mpirun (Open MPI) 4.1.4\\n"}});
  CHECK(find_mpi_launcher(MpiFamily::open_mpi, one).problem.empty());
  const std::string other = find_mpi_launcher(MpiFamily::mpich, one).problem;
  CHECK(other.find("mpirun: mpirun (Open MPI) 4.1.4) is not one of MPICH") != std::string::npos);
  CHECK(other.find("Debian: mpich") != std::string::npos);
  CHECK(
      find_mpi_launcher(MpiFamily::mpich, path_with({})).problem.starts_with("mpiexec.hydra was not found"));
}

TEST_CASE("a component has the launcher of its program's MPI") {
  const Environment path = path_with({{"mpirun", "mpirun (Open MPI) 4.1.4\\n"}, {"mpiexec.mpich", hydra}});
  Workflow workflow = flow_of({{}, {}, {}, {Launcher::Kind::srun}, {Launcher::Kind::srun}});
  workflow.components[4].launcher_options = {"--mpi=none"};
  choose_launchers(workflow,
                   {with(MpiFamily::open_mpi), with(MpiFamily::mpich), std::nullopt, with(MpiFamily::mpich),
                    with(MpiFamily::mpich)},
                   path);
  CHECK(workflow.components[0].launcher->command == std::vector<std::string>{"mpirun"});
  CHECK(workflow.components[1].launcher->kind == Launcher::Kind::hydra);
  CHECK(workflow.components[1].launcher->command == std::vector<std::string>{"mpiexec.mpich"});
  CHECK(workflow.components[2].launcher->kind == Launcher::Kind::mpirun);
  CHECK(workflow.components[3].launcher_options == std::vector<std::string>{"--mpi=pmi2"});
  CHECK(workflow.components[4].launcher_options == std::vector<std::string>{"--mpi=none"});
}

TEST_CASE("a launcher of another MPI, and a Sluice without MPICH, are mistakes") {
  Workflow workflow =
      flow_of({{Launcher::Kind::hydra}, {Launcher::Kind::hydra}, {Launcher::Kind::custom, {"start"}}});
  FileRule rule;
  rule.writer = "c2";
  workflow.files.push_back(rule);
  const Inspections inspections{with(MpiFamily::open_mpi), with(MpiFamily::mpich), with(MpiFamily::open_mpi)};
  Installation installation;
  installation.mpich_library = "/lib/libsluice_pnetcdf_mpich.so";
  auto mistakes = find_mpi_mistakes(workflow, inspections, installation);
  REQUIRE(mistakes.size() == 1);
  CHECK(mistakes[0].text.find("'c1' has Open MPI, but its launcher is MPICH's") != std::string::npos);
  Inspections guessed = inspections;  // a script may start other programs than those that it names
  for (auto& inspection : guessed) inspection->is_mpi_linked = false;
  CHECK(find_mpi_mistakes(workflow, guessed, installation).empty());
  installation.mpich_library.clear();
  mistakes = find_mpi_mistakes(workflow, inspections, installation);
  REQUIRE(mistakes.size() == 2);
  CHECK(mistakes[1].text.find("'c2' has MPICH, but this Sluice was built without MPICH") !=
        std::string::npos);
}
