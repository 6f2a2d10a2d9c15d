#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "sluice/runtime/protocol.hpp"

namespace sluice::coordinator {

/// By component: the ranks of its processes on this machine that are in a function of MPI now.
using RanksInMpi = std::map<std::string, std::set<std::uint32_t>>;

/// Samples where the processes of a run use the processor, for some hundredths of a second
/// (docs/design/watching-a-run.md). Empty where the system does not permit it. `socket`: the run's.
[[nodiscard]] RanksInMpi sample_mpi(const std::string& socket);

/// The ranks that the matchers do not know to wait, to gather or to copy.
[[nodiscard]] RanksInMpi own_calls(const RanksInMpi& sampled, const runtime::RunView& view);

/// What a mapped file is, by its path: part of an MPI library; used by any code, such as the C library; the
/// program's own.
enum class CodeOrigin : std::uint8_t { program, mpi, shared };
[[nodiscard]] CodeOrigin origin_of(const std::string& mapped_file);

}  // namespace sluice::coordinator
