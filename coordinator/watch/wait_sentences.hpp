#pragma once
#include <string>

#include "sluice/runtime/protocol.hpp"

namespace sluice::coordinator {

/// "analysis (2 processes) waits for wave_0003.nc from model (30 s)".
[[nodiscard]] std::string describe_wait(const runtime::WaitStatus& wait);

/// "1 of 2 processes of viewer is in open of a.nc; rank 1 is not, since 5 s".
[[nodiscard]] std::string describe_gathering(const runtime::GatheringStatus& gathering);

/// "model (2 processes) copies into a.nc (3 s)".
[[nodiscard]] std::string describe_copy(const matcher::CopyStatus& copy);

}  // namespace sluice::coordinator
