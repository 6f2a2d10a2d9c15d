#pragma once
#include <new>
#include <string>

#include "mpi_handles.hpp"

namespace sluice::api {

/// Collective: the worst (smallest) status of all ranks.
[[nodiscard]] int worst_status(const Communicator& comm, int status);

/// Collective: throws on every rank when `status` is an error on any; a rank that failed itself throws its
/// own error with `what`, the others the worst status.
void agree(const Communicator& comm, int status, const std::string& what);

/// The same, with the text of the first rank that failed.
void agree_telling(const Communicator& comm, int status, std::string what);

/// How some work of this rank ended.
struct Outcome {
  int status = NC_NOERR;
  std::string what;
};

/// Throws where this rank failed, and where any has: `worst` is the worst status of all ranks.
void throw_where_failed(const Outcome& mine, int worst);

template <class Work>
[[nodiscard]] Outcome outcome_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.status(), error.what()};
  } catch (const std::bad_alloc&) {
    return {NC_ENOMEM, "out of memory"};
  }
  return {};
}

/// Collective: runs `work` here and throws on all ranks when it threw on any, so that nobody waits in the
/// next collective for one that has given up. `work` itself must not communicate.
template <class Work>
void together(const Communicator& comm, const Work& work) {
  const Outcome outcome = outcome_of(work);
  agree(comm, outcome.status, outcome.what);
}

/// The same where all ranks shall know what was wrong: those that did not fail throw with the text of the
/// first that did.
template <class Work>
void together_telling(const Communicator& comm, const Work& work) {
  const Outcome outcome = outcome_of(work);
  agree_telling(comm, outcome.status, outcome.what);
}

/// Collective: rank 0's outcome and flag are told to all, in one message; throws on all ranks where rank 0
/// failed.
[[nodiscard]] bool told_by_root(const Communicator& comm, const Outcome& outcome, bool flag);

/// Collective: runs `work` on rank 0, and gives what it returns to all; throws on all ranks when it threw.
template <class Work>
[[nodiscard]] bool flag_of_root(const Communicator& comm, const Work& work) {
  bool flag = false;
  Outcome outcome;
  if (comm.is_root()) outcome = outcome_of([&] { flag = work(); });
  return told_by_root(comm, outcome, flag);
}

/// Collective: a rank's value on all ranks.
void broadcast(const Communicator& comm, std::string& value, int teller = 0);
[[nodiscard]] bool broadcast_flag(const Communicator& comm, bool flag);

}  // namespace sluice::api
