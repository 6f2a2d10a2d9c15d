#include "agreement.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace sluice::api {
namespace {

constexpr const char* failed_elsewhere = "another process failed in this collective call";

}  // namespace

int worst_status(const Communicator& comm, int status) {
  if (comm.size() == 1) return status;
  int worst = status;
  check_mpi(MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, comm.get()), "agree on a status");
  return worst;
}

void agree(const Communicator& comm, int status, const std::string& what) {
  throw_where_failed({status, what}, worst_status(comm, status));
}

void throw_where_failed(const Outcome& mine, int worst) {
  if (mine.status != NC_NOERR) throw Error(static_cast<Status>(mine.status), mine.what);
  if (worst != NC_NOERR) throw Error(static_cast<Status>(worst), failed_elsewhere);
}

void agree_telling(const Communicator& comm, int status, std::string what) {
  if (comm.size() > 1) {
    int first = status != NC_NOERR ? comm.rank() : comm.size();
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm.get()), "agree on a status");
    if (first == comm.size()) return;
    int told = status;
    check_mpi(MPI_Bcast(&told, 1, MPI_INT, first, comm.get()), "broadcast");
    std::string text = what;
    broadcast(comm, text, first);
    if (status == NC_NOERR) {
      status = told;
      what = text;
    }
  }
  if (status != NC_NOERR) throw Error(static_cast<Status>(status), what);
}

void broadcast(const Communicator& comm, std::string& value, int teller, std::size_t piece_bytes) {
  if (comm.size() == 1) return;
  auto length = static_cast<std::int64_t>(value.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT64_T, teller, comm.get()), "broadcast");
  value.resize(static_cast<std::size_t>(length));
  for (std::size_t sent = 0; sent < value.size(); sent += piece_bytes) {
    const auto piece = static_cast<int>(std::min(piece_bytes, value.size() - sent));
    check_mpi(MPI_Bcast(value.data() + sent, piece, MPI_CHAR, teller, comm.get()), "broadcast");
  }
}

bool flag_from_root(const Communicator& comm, const Outcome& outcome, bool flag) {
  std::array<int, 2> told{outcome.status, flag ? 1 : 0};
  if (comm.size() > 1) check_mpi(MPI_Bcast(told.data(), 2, MPI_INT, 0, comm.get()), "broadcast");
  if (told[0] == NC_NOERR) return told[1] != 0;
  throw Error(static_cast<Status>(told[0]), comm.is_root() ? outcome.what : std::string(failed_elsewhere));
}

bool broadcast_flag(const Communicator& comm, bool flag) {
  int value = flag ? 1 : 0;
  if (comm.size() > 1) check_mpi(MPI_Bcast(&value, 1, MPI_INT, 0, comm.get()), "broadcast");
  return value != 0;
}

}  // namespace sluice::api
