#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "mpi_handles.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/runtime/session.hpp"

namespace sluice::api {

/// The session of this process, created at the first call; a forked child gets its own. Open datasets share
/// it and can outlive it as the process's session.
[[nodiscard]] std::shared_ptr<runtime::Session> process_session(
    const runtime::ClientEnvironment& environment);
/// For files by the C library: another one, where another matcher of the node has them.
[[nodiscard]] std::shared_ptr<runtime::Session> session_for_files(
    const runtime::ClientEnvironment& environment);

/// The processes of a communicator that create or open a dataset of the workflow together. Contains a
/// connected session and this process's place in the group.
struct CoupledGroup {
  std::shared_ptr<runtime::Session> session;  ///< shared with the process's other datasets
  runtime::Member member;
  int nodes = 1;  ///< number of nodes of these processes
  /// All processes have been offered the same step.
  std::optional<runtime::Session::Offer> offer = {};
  /// All processes have found the same step for reading.
  std::optional<runtime::Session::Read> read = {};
};

/// Collective: rank 0 chooses the group's number. Throws on all ranks if one rank cannot connect.
/// `created_by`: the rule of a file that is to be created, if an offered step may be taken for it.
/// `read_from`: the dataset that is to be read, if an offered read may be taken.
[[nodiscard]] CoupledGroup make_coupled_group(const Communicator& comm,
                                              const runtime::ClientEnvironment& environment,
                                              std::optional<std::uint32_t> created_by = std::nullopt,
                                              const runtime::DatasetKey* read_from = nullptr);

/// The absolute path of a file, valid for processes with any working directory. Throws Error(NC_EFILE).
[[nodiscard]] std::string absolute_path(const std::string& path);

/// Throws Error(NC_EPERM) if this component is not the rule's writer. The environment is the same on all
/// ranks, and so is the result. `action`: "create".
void expect_writer(const std::string& path, const runtime::ClientEnvironment& environment,
                   const runtime::ClientRule& rule, const char* action);

/// Runs `work` and measures its duration.
template <class Work>
[[nodiscard]] std::uint64_t microseconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const auto taken = std::chrono::steady_clock::now() - begin;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(taken).count());
}

}  // namespace sluice::api
