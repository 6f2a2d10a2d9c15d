#pragma once
#include <cstdint>

namespace sluice::matcher {

/// How far one writer's log offsets are from those of the same requests for another variable, in bytes.
struct LogShift {
  std::uint32_t writer = 0;
  std::int64_t bytes = 0;
  bool operator==(const LogShift&) const = default;
};

}  // namespace sluice::matcher
