#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "sluice/runtime/protocol.hpp"

namespace sluice::coordinator {

/// By component: ranks of its processes on this machine. A component that is one process by itself has rank
/// 0.
using RankSets = std::map<std::string, std::set<std::uint32_t>>;

/// What the system tells of the processes of a run.
struct ProcessStates {
  RankSets in_mpi;    ///< in a function of MPI
  RankSets sleeping;  ///< for something outside of the process, such as a pipe, a lock or a clock
  RankSets on_disk;   ///< for a disk
  RankSets stopped;   ///< by a signal, or by a debugger
};

/// Watches the processes of a run for some hundredths of a second (docs/design/watching-a-run.md). Without
/// `in_mpi` where the system does not permit to sample them. `socket`: the run's.
[[nodiscard]] ProcessStates sample_processes(const std::string& socket);

/// What the matchers do not know already: the processes that do not wait, gather or copy.
[[nodiscard]] ProcessStates own_states(const ProcessStates& sampled, const runtime::RunView& view);

/// What a mapped file is, by its path: part of an MPI library; used by any code, such as the C library; the
/// program's own.
enum class CodeOrigin : std::uint8_t { program, mpi, shared };
[[nodiscard]] CodeOrigin origin_of(const std::string& mapped_file);

}  // namespace sluice::coordinator
