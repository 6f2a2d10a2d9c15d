#pragma once
#include <filesystem>

#include "launch.hpp"
#include "run_directory.hpp"

namespace sluice::coordinator {

/// How many matchers a run has.
struct MatcherJobSize {
  int per_node = 1;
  int nodes = 1;
  bool is_virtual = false;  ///< the nodes are parts of this machine

  /// More than one matcher: they are an MPI job.
  [[nodiscard]] bool is_job() const noexcept { return total() > 1; }
  [[nodiscard]] int total() const noexcept { return per_node * nodes; }
};

/// From staging.matchers, SLUICE_VIRTUAL_NODES, and the number of nodes of a Slurm allocation. Throws
/// Error(NC_EINVAL) for a number of virtual nodes that is none.
[[nodiscard]] MatcherJobSize matcher_job_size(const workflows::Workflow& workflow,
                                              const Environment& environment);

/// The variables by which processes of components find their matcher, beside its socket.
[[nodiscard]] Environment matcher_variables(const MatcherJobSize& size);

/// How the job of matchers is started by mpirun: `program` is sluice-matcher. Its matcher 0 connects to
/// RunDirectory::coordinator_socket().
[[nodiscard]] LaunchPlan plan_matchers(const MatcherJobSize& size, const LaunchContext& context,
                                       const std::filesystem::path& program, const RunDirectory& directory);

/// The variable ("NAME=VALUE") by which matchers of a job are known.
[[nodiscard]] std::string matcher_mark(const std::filesystem::path& socket);

}  // namespace sluice::coordinator
