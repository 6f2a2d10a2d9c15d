#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "child_process.hpp"
#include "installation.hpp"
#include "run_directory.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The name (argv[0]) under which `sluice` starts itself as an exposer.
inline constexpr std::string_view exposer_name = "sluice-exposer";
/// The name by which it reads: a reader of each rule with `expose: true`, for the matchers. No component's
/// name begins with a dot.
inline constexpr std::string_view exposer_component = ".exposer";

/// Whether a rule has `expose: true`.
[[nodiscard]] bool exposes_files(const workflows::Workflow& workflow);

/// Plans the process that links the published steps of such rules into their directories, as symbolic links
/// to files in memory: programs read them into which no library can be loaded. It ends with the run.
[[nodiscard]] ChildOptions plan_exposer(const Installation& installation, const RunDirectory& directory,
                                        const workflows::Workflow& workflow);

/// The exposer's main function. `rules`: numbers of rules. Tells on stderr what it cannot link. Returns the
/// exit status.
[[nodiscard]] int expose(const std::filesystem::path& run_directory, const std::vector<std::string>& rules);

/// Removes the links that the exposer of a run has made, and that no other run has replaced since.
void remove_exposed_links(const std::filesystem::path& run_directory) noexcept;

}  // namespace sluice::coordinator
