#pragma once
#include <cstddef>
#include <cstdint>

namespace sluice::formats {

/// memcpy by the way that was fastest in this process for copies of this size and place. Which one that is
/// depends on the processor, and on whether the data is in its caches: vectors are the fastest far from the
/// caches, `rep movsb` often within them, stores past the caches for data that fits in none. If the
/// destination lies slightly after the source in its page, vectors from the end to the begin may take half of
/// the time of all others.
///
/// From 4 KiB on, the first copies of a kind take the ways in turn and are timed; the later ones take the
/// fastest. This is repeated from time to time. Any thread may copy.
void copy_bytes(void* destination, const void* source, std::size_t bytes) noexcept;

/// Data from this size on fits in no cache of one core complex.
inline constexpr std::size_t uncached_bytes = std::size_t{16} << 20;

/// As copy_bytes(), for one of many copies whose bytes together are `uncached_bytes` at least: a row of a
/// large array, a variable of a large step. Stores past the caches may then be the fastest from 8 KiB on.
/// `next`: the source of the following copy, which is fetched ahead; any address will do.
void copy_piece(void* destination, const void* source, std::size_t bytes, const void* next) noexcept;

/// The ways to copy, for benchmarks and tests.
enum class CopyWay : std::uint8_t {
  library,    ///< memcpy
  vectors,    ///< loads and stores of 32 bytes; of 64 bytes in short copies
  backwards,  ///< the same, from the end to the begin
  string,     ///< `rep movsb`
  streaming,  ///< loads, and stores that leave the caches alone
};

/// Whether this processor can copy so.
[[nodiscard]] bool can_copy_by(CopyWay way) noexcept;

/// Copies by this way, which the processor must have. Any size.
void copy_by(CopyWay way, void* destination, const void* source, std::size_t bytes) noexcept;

}  // namespace sluice::formats
