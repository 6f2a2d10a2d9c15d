#pragma once
#include <malloc.h>

#include <cstddef>

namespace sluice::test {

/// Bytes that this process has allocated now. 0 with an allocator that does not tell, as a sanitizer's.
inline std::size_t heap_bytes() {
  ::malloc_trim(0);  // small freed blocks no longer count
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace sluice::test
