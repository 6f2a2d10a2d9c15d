#include "launcher_choice.hpp"

#include <algorithm>
#include <map>

#include "launch.hpp"
#include "mpi_launchers.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::Launcher;
using workflows::Mistake;
using workflows::Workflow;

bool has_option(const Component& component, std::string_view text) {
  return std::ranges::any_of(component.launcher_options, [&](const std::string& option) {
    return option.find(text) != std::string::npos;
  });
}

void choose_launcher(Component& component, Launcher launcher, std::optional<MpiFamily> mpi) {
  if (launcher.kind == Launcher::Kind::mpirun && mpi == MpiFamily::mpich)
    launcher.kind = Launcher::Kind::hydra;
  // Slurm's plug-in for PMIx does not know MPICH's protocol.
  if (launcher.kind == Launcher::Kind::srun && mpi == MpiFamily::mpich && !has_option(component, "--mpi"))
    component.launcher_options.insert(component.launcher_options.begin(), "--mpi=pmi2");
  component.launcher = std::move(launcher);
}

}  // namespace

void choose_launchers(Workflow& workflow, const Inspections& inspections, const Environment& environment) {
  std::map<Launcher::Kind, std::string> names;
  for (std::size_t i = 0; i < workflow.components.size(); ++i) {
    Component& component = workflow.components[i];
    if (!is_launched(workflow, component)) continue;
    choose_launcher(component, launcher_of(workflow, component),
                    inspections[i] ? inspections[i]->mpi : std::nullopt);
    const auto family = traits_of(*component.launcher).mpi;
    if (!family) continue;
    const auto [name, is_new] = names.try_emplace(component.launcher->kind);
    if (is_new) name->second = find_mpi_launcher(*family, environment).program;
    if (!name->second.empty()) component.launcher->command = {name->second};
  }
}

std::vector<Mistake> find_mpi_mistakes(const Workflow& workflow, const Inspections& inspections,
                                       const Installation& installation) {
  std::vector<Mistake> mistakes;
  for (std::size_t i = 0; i < workflow.components.size(); ++i) {
    const Component& component = workflow.components[i];
    if (!inspections[i] || !inspections[i]->mpi) continue;
    const MpiFamily mpi = *inspections[i]->mpi;
    const std::string program =
        "the program of component '" + component.name + "' has " + std::string(name_of(mpi));
    const auto launchers =
        is_launched(workflow, component) ? traits_of(launcher_of(workflow, component)).mpi : mpi;
    if (inspections[i]->is_mpi_linked && launchers && *launchers != mpi)
      mistakes.push_back(
          {component.position,
           program + ", but its launcher is " + std::string(name_of(*launchers)) +
               "'s: each rank would be rank 0 of 1. Remove 'launcher', or write launcher: mpirun"});
    if (mpi == MpiFamily::mpich && inspections[i]->is_mpi_linked && installation.mpich_library.empty() &&
        is_coupled(workflow, component.name))
      mistakes.push_back({component.command_position,
                          program +
                              ", but this Sluice was built without MPICH: install MPICH and its headers "
                              "(Debian: mpich, libmpich-dev), and build Sluice again"});
  }
  return mistakes;
}

}  // namespace sluice::coordinator
