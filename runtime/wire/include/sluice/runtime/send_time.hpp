#pragma once
#include <cstdint>

namespace sluice::runtime {

/// Whether this process has the clock of the machine, and not one of a namespace.
[[nodiscard]] bool has_shared_clock() noexcept;

/// The clock that all processes of a machine share, in nanoseconds. Never 0.
[[nodiscard]] std::uint64_t shared_clock() noexcept;

/// The time of something that is sent from now on. Whatever is sent after this call has returned, by any
/// process of the machine, has a later time. 0: this process has another clock.
[[nodiscard]] std::uint64_t send_time() noexcept;

}  // namespace sluice::runtime
