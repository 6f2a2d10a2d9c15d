#include "collective_checks.hpp"

namespace sluice::api {

void compare_arguments(const Communicator& comm, const std::vector<Argument>& arguments, Mistake mine) {
  for (const auto& argument : arguments) {
    std::string of_root = argument.bytes;
    broadcast(comm, of_root);
    if (mine.status == NC_NOERR && of_root != argument.bytes)
      mine = {argument.status, "an argument of this collective call differs from the argument on rank 0"};
  }
  agree(comm, mine.status, mine.what);
}

int status_of_all(const Dataset& dataset, int status) {
  if (!dataset.is_safe_mode) return NC_NOERR;
  const bool is_own = status == NC_EIOMISMATCH || status == NC_ENOMEM || status == NC_ERANGE;
  return worst_status(dataset.comm, is_own ? NC_NOERR : status);
}

}  // namespace sluice::api
