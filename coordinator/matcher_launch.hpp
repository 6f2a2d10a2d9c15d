#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "job_nodes.hpp"
#include "launch.hpp"
#include "run_directory.hpp"

namespace sluice::coordinator {

/// How many matchers a run has.
struct MatcherJobSize {
  int per_node = 1;
  int nodes = 1;
  bool is_virtual = false;                ///< the nodes are parts of this machine
  std::vector<std::string> node_names{};  ///< of several machines, this one first
  bool by_srun = false;
  bool has_huge_pages = true;  ///< staging.huge-pages

  /// More than one matcher: they are an MPI job.
  [[nodiscard]] bool is_job() const noexcept { return total() > 1; }
  [[nodiscard]] int total() const noexcept { return per_node * nodes; }
};

/// From staging.matchers, SLUICE_VIRTUAL_NODES, and the nodes of the run. Throws Error(NC_EINVAL) for a
/// number of virtual nodes that is none, or of several machines.
[[nodiscard]] MatcherJobSize matcher_job_size(const workflows::Workflow& workflow,
                                              const Environment& environment, const JobNodes& nodes = {});

/// The variables by which processes of components find their matcher, beside its socket.
[[nodiscard]] Environment matcher_variables(const MatcherJobSize& size);

/// What its command line has of the workflow, besides where things are.
[[nodiscard]] std::vector<std::string> matcher_options(const MatcherJobSize& size);

/// How the job of matchers is started by mpirun: `program` is sluice-matcher. Its matcher 0 is on this
/// machine and connects to RunDirectory::coordinator_socket().
[[nodiscard]] LaunchPlan plan_matchers(const MatcherJobSize& size, const LaunchContext& context,
                                       const std::filesystem::path& program, const RunDirectory& directory);

}  // namespace sluice::coordinator
