#pragma once
#include <cstddef>

namespace sluice::runtime {

/// The heap of a matcher. The first match of a pattern takes tens of MiB and gives them back: by the system's
/// defaults each large vector is pages of its own, taken one by one with a page fault each and returned when
/// it goes, which costs as much as the matching itself. With this the heap keeps up to `bytes` for what comes
/// next, in huge pages where the system offers them. Memory that nobody uses is not taken. To be called once,
/// before there are threads.
void prepare_heap(std::size_t bytes) noexcept;

}  // namespace sluice::runtime
