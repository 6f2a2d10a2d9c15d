#pragma once
#include <cstddef>

namespace sluice::runtime {

/// Prepares the heap of a matcher. The first match of a pattern allocates tens of MiB and frees them again.
/// By default, the system gives each large vector pages of its own, with a page fault for each page, and
/// takes them back when the vector is freed. That costs as much as the matching itself. After this call the
/// heap keeps up to `bytes` for later allocations, in huge pages where the system offers them. Unused memory
/// is not taken. Call this once, before threads start.
void prepare_heap(std::size_t bytes) noexcept;

/// What a matcher keeps: the memory for matching some hundred thousand pieces.
inline constexpr std::size_t matcher_heap_bytes = std::size_t{64} << 20;

}  // namespace sluice::runtime
