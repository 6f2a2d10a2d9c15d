#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "environment.hpp"
#include "mpi_family.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The words of a launcher's command line, around those of the program.
struct LauncherWords {
  std::vector<std::string> before, behind;
};

/// What is known of a kind of launcher. A new one is a row in launchers.cpp. The variables in which it tells
/// ranks their place are in sluice/runtime/matcher_choice.hpp.
struct LauncherTraits {
  workflows::Launcher::Kind kind{};
  std::string_view program = {};      ///< its name in PATH; empty: the workflow has it, or there is none
  std::optional<MpiFamily> mpi = {};  ///< that it belongs to; nothing: it starts programs of any MPI
  LauncherWords (*words)(const workflows::Workflow& workflow, const workflows::Component& component,
                         const Environment& environment) = nullptr;
  /// Instead of the program: they print node_label and a node for each rank; empty: it cannot be asked.
  std::vector<std::string> map_words = {};
  /// Lets it hand `own` on to ranks that programs start; null: they have it.
  void (*hand_on)(std::vector<std::string>& arguments, Environment& environment,
                  const workflows::Component& component, const Environment& own) = nullptr;
  bool is_of_allocation = false;  ///< ranks may be anywhere in an allocation; it starts the matchers, too
};
[[nodiscard]] const LauncherTraits& traits_of(const workflows::Launcher& launcher);

/// The name before a node in mpirun's map.
inline constexpr std::string_view node_label = "Data for node: ";

/// The name under which the launcher was found, or its name in PATH.
[[nodiscard]] std::string launcher_name(const workflows::Launcher& launcher);

/// Whether the launcher starts the component.
[[nodiscard]] bool is_launched(const workflows::Workflow& workflow, const workflows::Component& component);

/// Whether the component's launcher options allow ranks on other nodes.
[[nodiscard]] bool names_hosts(const workflows::Component& component);

/// The value of HYDRA's option -hosts for a list of nodes in Open MPI's form: lines "NAME slots=N", with
/// comments after '#'. Empty if the file cannot be read, or has no names.
[[nodiscard]] std::string hydra_hosts(const std::filesystem::path& hostfile);

/// The srun command line with Sluice's options: steps share the allocation. `options`: the user's options,
/// which have precedence.
[[nodiscard]] std::vector<std::string> srun_words(const std::vector<std::string>& options = {});

}  // namespace sluice::coordinator
