#include <cstring>
#include <utility>

#include "processor.hpp"
#include "sluice/formats/convert.hpp"

#if defined(__x86_64__)
#include <tmmintrin.h>
#endif

namespace sluice::formats {

namespace {

constexpr std::uint16_t reversed(std::uint16_t x) noexcept {
  return __builtin_bswap16(x);
}
constexpr std::uint32_t reversed(std::uint32_t x) noexcept {
  return __builtin_bswap32(x);
}
constexpr std::uint64_t reversed(std::uint64_t x) noexcept {
  return __builtin_bswap64(x);
}

#if defined(__x86_64__)

/// Reverses the bytes of each word of a vector: one instruction.
template <class Word, std::size_t... byte>
[[gnu::target("ssse3")]] void copy_swapped_vector(std::byte* to, const std::byte* from,
                                                  std::index_sequence<byte...>) noexcept {
  __m128i vector;
  std::memcpy(&vector, from, sizeof vector);
  vector = _mm_shuffle_epi8(vector, _mm_setr_epi8(static_cast<char>(byte ^ (sizeof(Word) - 1))...));
  std::memcpy(to, &vector, sizeof vector);
}

/// Swaps as many words as fill vectors; returns their number. Compilers do not generate this code if they may
/// use only the x86-64 baseline.
template <class Word>
[[gnu::target("ssse3")]] std::int64_t copy_swapped_vectors(std::byte* to, const std::byte* from,
                                                           std::int64_t n) noexcept {
  constexpr std::int64_t vector_bytes = 16;
  const std::int64_t bytes = n * static_cast<std::int64_t>(sizeof(Word)) / vector_bytes * vector_bytes;
  for (std::int64_t at = 0; at < bytes; at += vector_bytes)
    copy_swapped_vector<Word>(to + at, from + at, std::make_index_sequence<vector_bytes>());
  return bytes / static_cast<std::int64_t>(sizeof(Word));
}

bool has_vectors() noexcept {
  static const bool has = SLUICE_PROCESSOR_HAS(SSSE3, "ssse3");
  return has;
}

#else

template <class Word>
std::int64_t copy_swapped_vectors(std::byte*, const std::byte*, std::int64_t) noexcept {
  return 0;
}

constexpr bool has_vectors() noexcept {
  return false;
}

#endif

template <class Word>
void copy_swapped_words(std::byte* to, const std::byte* from, std::int64_t n) noexcept {
  const std::int64_t done = has_vectors() ? copy_swapped_vectors<Word>(to, from, n) : 0;
  for (std::int64_t i = done; i < n; ++i) {
    Word word;
    std::memcpy(&word, from + i * static_cast<std::int64_t>(sizeof word), sizeof word);
    word = reversed(word);
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof word), &word, sizeof word);
  }
}

}  // namespace

void copy_swapped(void* destination, const void* source, std::size_t element_bytes, std::int64_t n) noexcept {
  auto* to = static_cast<std::byte*>(destination);
  const auto* from = static_cast<const std::byte*>(source);
  switch (element_bytes) {
    case 2:
      return copy_swapped_words<std::uint16_t>(to, from, n);
    case 4:
      return copy_swapped_words<std::uint32_t>(to, from, n);
    case 8:
      return copy_swapped_words<std::uint64_t>(to, from, n);
    default:
      if (n > 0 && destination != source)
        std::memcpy(destination, source, element_bytes * static_cast<std::size_t>(n));
  }
}

void copy_ordered(void* destination, const void* source, std::size_t element_bytes, std::int64_t n,
                  ByteOrder order) noexcept {
  if (order == native_byte_order)
    copy_swapped(destination, source, 1, n * static_cast<std::int64_t>(element_bytes));
  else
    copy_swapped(destination, source, element_bytes, n);
}

}  // namespace sluice::formats
