#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "job_nodes.hpp"
#include "launch.hpp"
#include "run_directory.hpp"

namespace sluice::coordinator {

/// The number of matchers of a run, and their nodes.
struct MatcherJobSize {
  int per_node = 1;
  int nodes = 1;
  bool is_virtual = false;                ///< the nodes are parts of this machine
  std::vector<std::string> node_names{};  ///< the names of several machines, with this machine first
  bool by_srun = false;
  bool has_huge_pages = true;  ///< staging.huge-pages

  /// Whether the run has more than one matcher: several matchers are an MPI job.
  [[nodiscard]] bool is_job() const noexcept { return total() > 1; }
  [[nodiscard]] int total() const noexcept { return per_node * nodes; }
};

/// Derives the size from staging.matchers, SLUICE_VIRTUAL_NODES, and the nodes of the run. Throws
/// Error(NC_EINVAL) if SLUICE_VIRTUAL_NODES is not a valid number, or if it is set and the run uses several
/// machines.
[[nodiscard]] MatcherJobSize matcher_job_size(const workflows::Workflow& workflow,
                                              const Environment& environment, const JobNodes& nodes = {});

/// The variables by which the components' processes find their matcher, in addition to its socket.
[[nodiscard]] Environment matcher_variables(const MatcherJobSize& size);

/// The matcher's command-line options that depend on the workflow; paths are not among them.
[[nodiscard]] std::vector<std::string> matcher_options(const MatcherJobSize& size);

/// Plans how mpirun starts the job of matchers; `program` is sluice-matcher. Matcher 0 runs on this machine
/// and connects to RunDirectory::coordinator_socket().
[[nodiscard]] LaunchPlan plan_matchers(const MatcherJobSize& size, const LaunchContext& context,
                                       const std::filesystem::path& program, const RunDirectory& directory);

/// The directory on this machine for data that does not fit in memory.
struct SpillChoice {
  std::filesystem::path directory;  ///< absolute; empty: no directory
  bool is_automatic = false;        ///< other nodes may choose another one
  std::string trouble;              ///< why no directory was found, if one was wanted
};

/// Evaluates `staging.spill`. Takes the directory that the user names. For `auto`, takes the first of two
/// directories whose file system can reserve space: the directory of the workflow file, where the files would
/// have been written, then TMPDIR.
[[nodiscard]] SpillChoice choose_spill(const workflows::Workflow& workflow, const Environment& environment);

}  // namespace sluice::coordinator
