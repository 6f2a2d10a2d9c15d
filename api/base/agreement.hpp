#pragma once
#include <new>
#include <string>

#include "mpi_handles.hpp"

namespace sluice::api {

/// Collective: returns the worst (smallest) status of all ranks.
[[nodiscard]] int worst_status(const Communicator& comm, int status);

/// Collective: throws on every rank when `status` is an error on any rank. A rank that failed throws its own
/// error with `what`; the other ranks throw the worst status.
void agree(const Communicator& comm, int status, const std::string& what);

/// Same as agree(), but every rank throws the text of the first rank that failed.
void agree_telling(const Communicator& comm, int status, std::string what);

/// The outcome of some work on this rank.
struct Outcome {
  int status = NC_NOERR;
  std::string what;
};

/// Throws if this rank or any other rank failed. `worst` is the worst status of all ranks.
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

/// Collective: runs `work` on this rank and throws on all ranks if `work` threw on any rank. So no rank waits
/// in the next collective for a rank that gave up. `work` itself must not communicate.
template <class Work>
void run_collectively(const Communicator& comm, const Work& work) {
  const Outcome outcome = outcome_of(work);
  agree(comm, outcome.status, outcome.what);
}

/// Same as above, but all ranks throw the text of the first rank that failed.
template <class Work>
void together_telling(const Communicator& comm, const Work& work) {
  const Outcome outcome = outcome_of(work);
  agree_telling(comm, outcome.status, outcome.what);
}

/// Collective: rank 0 sends its outcome and flag to all ranks in one message. Throws on all ranks if rank 0
/// failed.
[[nodiscard]] bool flag_from_root(const Communicator& comm, const Outcome& outcome, bool flag);

/// Collective: runs `work` on rank 0 and returns its result on all ranks. Throws on all ranks if `work`
/// threw.
template <class Work>
[[nodiscard]] bool flag_of_root(const Communicator& comm, const Work& work) {
  bool flag = false;
  Outcome outcome;
  if (comm.is_root()) outcome = outcome_of([&] { flag = work(); });
  return flag_from_root(comm, outcome, flag);
}

/// Collective: runs `work` on rank 0, which does not wait for the others. Throws on all ranks if `work`
/// threw.
template <class Work>
void run_on_root(const Communicator& comm, const Work& work) {
  Outcome outcome;
  if (comm.is_root()) outcome = outcome_of(work);
  (void)flag_from_root(comm, outcome, false);
}

/// Collective: copies a value from rank `teller` to all ranks, in pieces that MPI can count.
void broadcast(const Communicator& comm, std::string& value, int teller = 0,
               std::size_t piece_bytes = 1 << 30);
[[nodiscard]] bool broadcast_flag(const Communicator& comm, bool flag);

}  // namespace sluice::api
