#include "gathering.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <numeric>
#include <utility>
#include <vector>

#include "coupled_group.hpp"
#include "sluice/matcher/fingerprint.hpp"

namespace sluice::api {
namespace {

using runtime::Session;

/// An MPI group of processes.
class ProcessGroup {
 public:
  explicit ProcessGroup(MPI_Comm comm) { check_mpi(MPI_Comm_group(comm, &group_), "tell a group"); }
  ~ProcessGroup() { MPI_Group_free(&group_); }
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  [[nodiscard]] MPI_Group get() const noexcept { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

/// The ranks in MPI_COMM_WORLD of a communicator's processes. Only this process takes part in the call.
std::vector<int> world_ranks_of(MPI_Comm comm, int size) {
  const ProcessGroup all(MPI_COMM_WORLD);
  const ProcessGroup some(comm);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> world_ranks(ranks.size());
  check_mpi(MPI_Group_translate_ranks(some.get(), size, ranks.data(), all.get(), world_ranks.data()),
            "tell the ranks of a group");
  return world_ranks;
}

/// The stride, if rank i is first + i * stride; else 0.
int stride_of(const std::vector<int>& ranks) {
  if (ranks.size() < 2 || ranks.front() < 0) return 0;
  const int stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i] - ranks[i - 1] != stride) return 0;
  return stride > 0 ? stride : 0;
}

runtime::Gathering gathering_of(MPI_Comm comm) {
  int rank = 0;
  int size = 1;
  check_mpi(MPI_Comm_rank(comm, &rank), "tell the rank");
  check_mpi(MPI_Comm_size(comm, &size), "tell the size of the communicator");
  const std::vector<int> world_ranks = world_ranks_of(comm, size);
  runtime::Gathering gathering;
  gathering.rank = static_cast<std::uint32_t>(rank);
  gathering.size = static_cast<std::uint32_t>(size);
  matcher::FingerprintBuilder ranks;
  for (const int each : world_ranks) ranks.add(std::int64_t{each});
  gathering.ranks = ranks.value().low;
  gathering.stride = static_cast<std::uint32_t>(stride_of(world_ranks));
  if (gathering.stride > 0) gathering.first_rank = static_cast<std::uint32_t>(world_ranks.front());
  gathering.waited_ms = static_cast<std::uint64_t>(Session::time_until_told.count());
  return gathering;
}

}  // namespace

/// The matcher has a report of the wait during the lifetime of this object.
class Gathering::Notice {
 public:
  Notice(std::shared_ptr<runtime::Session> session, runtime::Gathering gathering)
      : session_(std::move(session)), notice_(session_->tell_of(std::move(gathering))) {}

 private:
  std::shared_ptr<runtime::Session> session_;  // shared with the process's datasets
  std::unique_ptr<runtime::Session::GatheringNotice> notice_;
};

Communicator Gathering::duplicate_of(MPI_Comm user) const {
  return Communicator::duplicate_of(user, [&](MPI_Request& request) { wait(user, request); });
}

int Gathering::worst_status(const Communicator& comm, int status) const {
  if (comm.size() == 1) return status;
  int worst = status;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(&status, &worst, 1, MPI_INT, MPI_MIN, comm.get(), &request), "agree on a status");
  wait(comm.get(), request);
  return worst;
}

/// Polls without pause, as MPI's own waits do. So messages to this process, and accesses to its memory, make
/// progress meanwhile.
void Gathering::wait(MPI_Comm comm, MPI_Request& request) const {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<Notice> told;
  bool has_lasted = false;
  for (;;) {
    int is_complete = 0;
    check_mpi(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE), "wait for the other processes");
    if (is_complete != 0) return;
    if (has_lasted || std::chrono::steady_clock::now() - begin < Session::time_until_told) continue;
    has_lasted = true;
    told = tell(comm);
  }
}

/// Null if there is no matcher to inform or nothing to report. The wait continues anyway.
std::unique_ptr<Gathering::Notice> Gathering::tell(MPI_Comm comm) const noexcept {
  try {
    const runtime::ClientEnvironment& environment = environment_();
    if (!environment.is_coupled() || path_ == nullptr || *path_ == '\0') return nullptr;
    auto match = runtime::find_rule(environment, path_);
    if (!match) return nullptr;
    runtime::Gathering gathering = gathering_of(comm);
    gathering.key = std::move(match->key);
    gathering.call =
        call_ == Call::create ? runtime::Gathering::Call::create : runtime::Gathering::Call::open;
    return std::make_unique<Notice>(process_session(environment), std::move(gathering));
  } catch (const std::exception&) {
    return nullptr;
  }
}

std::unique_ptr<Session::GatheringNotice> tell_of_wait(Session& session, MPI_Comm comm,
                                                       const runtime::DatasetKey& key) noexcept {
  try {
    runtime::Gathering gathering = gathering_of(comm);
    gathering.key = key;
    gathering.call = runtime::Gathering::Call::access;
    return session.tell_of(std::move(gathering));
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace sluice::api
