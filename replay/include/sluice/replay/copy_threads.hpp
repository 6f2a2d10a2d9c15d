#pragma once
// Copies by several threads. The threads exist only during a call: a program that forks or ends meets none.
#include <cstdint>
#include <functional>

namespace sluice::replay {

/// The number of threads for a copy of this size, of at most `most`, where so many processors are idle.
[[nodiscard]] int threads_for(std::uint64_t bytes, int most, int idle_processors) noexcept;

/// The processors of the machine, at most those that this process may use, on which nothing runs now.
[[nodiscard]] int count_idle_processors() noexcept;

/// Calls part(0) … part(parts - 1) at the same time, the first in the calling thread. Where the system has no
/// thread to give, the calling thread does the parts that are left. Throws what the first failed part threw.
void run_at_once(int parts, const std::function<void(int)>& part);

}  // namespace sluice::replay
