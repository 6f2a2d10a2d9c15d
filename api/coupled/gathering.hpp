#pragma once
#include <memory>
#include <string>

#include "mpi_handles.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/runtime/session.hpp"

namespace sluice::api {

/// The first collective steps of a create or open. A process may have to wait there for processes that have
/// not made the call, and only MPI knows of this wait. If the wait is long and the file is coupled, the
/// matcher gets a list of the processes that have arrived. It gets another message at the end of the wait. If
/// all processes call at about the same time, no message is sent and the call takes no longer.
class Gathering {
 public:
  enum class Call { create, open };
  /// `environment` may throw; `path` may be null. Both are used only if a wait is reported.
  Gathering(const runtime::ClientEnvironment& (*environment)(), const char* path, Call call) noexcept
      : environment_(environment), path_(path), call_(call) {}

  /// Collective: Communicator::duplicate_of.
  [[nodiscard]] Communicator duplicate_of(MPI_Comm user) const;
  /// Collective: worst_status() (agreement.hpp).
  [[nodiscard]] int worst_status(const Communicator& comm, int status) const;

 private:
  class Notice;
  void wait(MPI_Comm comm, MPI_Request& request) const;
  [[nodiscard]] std::unique_ptr<Notice> tell(MPI_Comm comm) const noexcept;

  const runtime::ClientEnvironment& (*environment_)();
  const char* path_;
  Call call_;
};

/// Tells the matcher that this process waits for the others of the communicator in a collective call on the
/// open dataset, until the returned object is destroyed. Null if that cannot be told; the wait goes on
/// anyway.
[[nodiscard]] std::unique_ptr<runtime::Session::GatheringNotice> tell_of_wait(
    runtime::Session& session, MPI_Comm comm, const runtime::DatasetKey& key) noexcept;

}  // namespace sluice::api
