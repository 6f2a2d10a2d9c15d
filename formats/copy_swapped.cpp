#include <cstring>

#include "sluice/formats/convert.hpp"

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

template <class Word>
void copy_swapped_words(std::byte* destination, const std::byte* source, std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    Word word;
    std::memcpy(&word, source + i * static_cast<std::int64_t>(sizeof word), sizeof word);
    word = reversed(word);
    std::memcpy(destination + i * static_cast<std::int64_t>(sizeof word), &word, sizeof word);
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

}  // namespace sluice::formats
