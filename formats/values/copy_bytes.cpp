#include "sluice/formats/copy_bytes.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice::formats {

namespace {

#if defined(__x86_64__)

using Vector = __m256i;
constexpr std::size_t block_bytes = 4 * sizeof(Vector);
constexpr std::size_t cache_line_bytes = 64;
/// Below this size, memcpy does not use `rep movsb`; from the upper size on, memory is the bottleneck.
constexpr std::size_t least_bytes = 1024;
constexpr std::size_t most_bytes = 1 << 20;

[[gnu::target("avx2"), gnu::always_inline]] inline void copy_block(char* to, const char* from) noexcept {
  const auto* const source = reinterpret_cast<const Vector*>(from);
  auto* const destination = reinterpret_cast<Vector*>(to);
  const Vector a = _mm256_loadu_si256(source);
  const Vector b = _mm256_loadu_si256(source + 1);
  const Vector c = _mm256_loadu_si256(source + 2);
  const Vector d = _mm256_loadu_si256(source + 3);
  _mm256_storeu_si256(destination, a);
  _mm256_storeu_si256(destination + 1, b);
  _mm256_storeu_si256(destination + 2, c);
  _mm256_storeu_si256(destination + 3, d);
}

/// Copies at least a block. Stores do not cross cache lines, except in the first and the last block.
[[gnu::target("avx2")]] void copy_blocks(char* to, const char* from, std::size_t bytes) noexcept {
  copy_block(to, from);
  std::size_t at = cache_line_bytes - reinterpret_cast<std::uintptr_t>(to) % cache_line_bytes;
  for (; at + block_bytes <= bytes; at += block_bytes) copy_block(to + at, from + at);
  copy_block(to + bytes - block_bytes, from + bytes - block_bytes);
}

bool has_vectors() noexcept {
  return __builtin_cpu_supports("avx2") != 0;
}

#endif

}  // namespace

void copy_bytes(void* destination, const void* source, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  if (bytes >= least_bytes && bytes < most_bytes && has_vectors()) {
    copy_blocks(static_cast<char*>(destination), static_cast<const char*>(source), bytes);
    return;
  }
#endif
  std::memcpy(destination, source, bytes);
}

}  // namespace sluice::formats
