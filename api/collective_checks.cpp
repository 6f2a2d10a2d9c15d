#include "collective_checks.hpp"

namespace sluice::api {

void compare_arguments(const Communicator& comm, const std::vector<Argument>& arguments) {
  int status = NC_NOERR;
  for (const auto& mine : arguments) {
    std::string of_root = mine.bytes;
    broadcast(comm, of_root);
    if (status == NC_NOERR && of_root != mine.bytes) status = mine.status;
  }
  agree(comm, status, "an argument of this collective call is not the same as on rank 0");
}

int status_of_all(const Dataset& dataset, int status) {
  if (!dataset.is_safe_mode) return NC_NOERR;
  const bool is_own = status == NC_EIOMISMATCH || status == NC_ENOMEM || status == NC_ERANGE;
  return worst_status(dataset.comm, is_own ? NC_NOERR : status);
}

}  // namespace sluice::api
