#include "matcher_job.hpp"

#include <mpi.h>

#include <vector>

#include "mpi_transport.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// For each rank the first rank of its machine.
std::vector<std::uint32_t> hosts_of_ranks() {
  MPI_Comm machine = MPI_COMM_NULL;
  check_matcher_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine),
                    "find the matchers of this machine");
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  auto first = static_cast<std::uint32_t>(rank);
  check_matcher_mpi(MPI_Bcast(&first, 1, MPI_UINT32_T, 0, machine), "tell the machine's first matcher");
  MPI_Comm_free(&machine);
  std::vector<std::uint32_t> hosts(static_cast<std::size_t>(size));
  check_matcher_mpi(MPI_Allgather(&first, 1, MPI_UINT32_T, hosts.data(), 1, MPI_UINT32_T, MPI_COMM_WORLD),
                    "tell where the matchers are");
  return hosts;
}

std::string bell_path(const std::string& first_socket, std::uint32_t index) {
  return matcher_socket_path(first_socket, index) + ".bell";
}

}  // namespace

MatcherJob::MatcherJob(std::string first_socket, std::uint32_t virtual_nodes)
    : first_socket_(std::move(first_socket)) {
  int provided = 0;
  check_matcher_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "be initialized");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rank_ = static_cast<std::uint32_t>(rank);
  const std::vector<std::uint32_t> hosts = hosts_of_ranks();
  nodes_ = NodeMap(hosts, virtual_nodes);
  std::vector<std::string> paths(hosts.size());
  for (std::uint32_t other = 0; other < nodes_.size(); ++other) {
    if (hosts[other] == hosts[rank_]) {
      paths[other] = bell_path(first_socket_, nodes_.index_on_host(other));
    } else {
      is_on_one_machine_ = false;
    }
  }
  bell_ = std::make_shared<Doorbell>(paths[rank_], paths);
}

MatcherJob::~MatcherJob() = default;

std::unique_ptr<PeerLink> MatcherJob::link() {
  auto transport =
      std::make_unique<MpiTransport>(MPI_COMM_WORLD, [bell = bell_](std::uint32_t to) { bell->ring(to); });
  return std::make_unique<PeerLink>(std::move(transport));
}

void MatcherJob::finish() {
  MPI_Finalize();
}

}  // namespace sluice::runtime
