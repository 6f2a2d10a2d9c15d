#pragma once
#include <string_view>

namespace sluice::runtime {

/// Version of this build, as the handshake compares it: the project's.
inline constexpr std::string_view library_version = SLUICE_VERSION;

}  // namespace sluice::runtime
