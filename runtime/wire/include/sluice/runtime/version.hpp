#pragma once
#include <string_view>

namespace sluice::runtime {

/// The project's version of this build, as the handshake compares it.
inline constexpr std::string_view library_version = SLUICE_VERSION;

}  // namespace sluice::runtime
