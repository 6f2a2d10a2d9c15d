#include "warm_heap.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace sluice::runtime {

void prepare_heap(std::size_t bytes) noexcept {
  constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;
  // Larger blocks still have pages of their own, and are returned when they are freed.
  ::mallopt(M_MMAP_THRESHOLD, static_cast<int>(bytes));
  ::mallopt(M_TRIM_THRESHOLD, static_cast<int>(bytes + huge_page_bytes));
  // The addresses of the heap's next `bytes`: not touched, only announced to the system.
  void* const heap = std::malloc(bytes - huge_page_bytes);
  if (heap == nullptr) return;
  const auto first = (reinterpret_cast<std::uintptr_t>(heap) + huge_page_bytes - 1) & ~(huge_page_bytes - 1);
  const auto end =
      (reinterpret_cast<std::uintptr_t>(heap) + bytes - huge_page_bytes) & ~(huge_page_bytes - 1);
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  std::free(heap);
}

}  // namespace sluice::runtime
