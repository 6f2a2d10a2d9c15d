#pragma once
#include <cstdint>

namespace sluice::matcher {

/// The distance in bytes between one writer's log offsets and its log offsets of the same requests for
/// another variable.
struct LogShift {
  std::uint32_t writer = 0;
  std::int64_t bytes = 0;
  bool operator==(const LogShift&) const = default;
};

}  // namespace sluice::matcher
