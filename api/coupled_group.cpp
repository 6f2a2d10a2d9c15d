#include "coupled_group.hpp"

#include <array>
#include <filesystem>
#include <system_error>

#include "agreement.hpp"
#include "process_session.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

void expect_writer(const std::string& path, const runtime::ClientEnvironment& environment,
                   const runtime::ClientRule& rule, const char* action) {
  if (rule.writes) return;
  throw Error(NC_EPERM, "component " + environment.component + " may not " + action + " " + path +
                            ": by the workflow's rule for \"" + rule.pattern +
                            "\" it is a reader only; make it the writer there, or use another name");
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(storage::without_prefix(path), error);
  if (error) throw Error(NC_EFILE, path + ": the working directory cannot be found: " + error.message());
  return absolute.lexically_normal().string();
}

CoupledGroup make_coupled_group(const Communicator& comm, const runtime::ClientEnvironment& environment) {
  CoupledGroup group;
  std::uint64_t number = 0;
  std::int64_t node = 0;
  const Outcome outcome = outcome_of([&] {
    group.session = process_session(environment);
    group.session->connect();
    node = group.session->node();
    if (comm.is_root()) number = runtime::random_number() >> 1;  // it is positive for the reduction
  });
  // The number is rank 0's, the others have 0; of nodes the largest and (negated) the smallest; of statuses,
  // which are negative, the worst (negated).
  std::array<std::int64_t, 4> shared{static_cast<std::int64_t>(number), node, -node, -outcome.status};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, shared.data(), shared.size(), MPI_INT64_T, MPI_MAX, comm.get()),
            "share the group's number");
  throw_where_failed(outcome, -static_cast<int>(shared[3]));
  const auto group_number = static_cast<std::uint64_t>(shared[0]);
  group.nodes = static_cast<int>(shared[1] + shared[2]) + 1;
  group.member = {group_number, static_cast<std::uint32_t>(comm.rank()),
                  static_cast<std::uint32_t>(comm.size()), group.nodes > 1};
  return group;
}

}  // namespace sluice::api
