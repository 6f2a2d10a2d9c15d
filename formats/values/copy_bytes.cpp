#include "sluice/formats/copy_bytes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "processor.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice::formats {

#if defined(__x86_64__)

namespace {

constexpr std::size_t cache_line_bytes = 64;
constexpr std::size_t page_bytes = 4096;
/// Below this size, memcpy does not use `rep movsb`.
constexpr std::size_t least_bytes = 1024;
/// From this size on, a copy takes long enough to be timed.
constexpr std::size_t least_timed_bytes = std::size_t{4} << 10;
/// Below these sizes, source and destination fit in a first-level cache together; of some processors or
/// others.
constexpr std::size_t shorter_bytes = std::size_t{16} << 10;
constexpr std::size_t short_bytes = std::size_t{32} << 10;
/// From this size on, source and destination fit in no second-level cache.
constexpr std::size_t long_bytes = std::size_t{2} << 20;
/// Shorter pieces of large data do not gain from streaming.
constexpr std::size_t least_piece_bytes = std::size_t{8} << 10;
/// Larger copies are made in pieces of this size.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
/// While the ways are compared, pieces are shorter: a way may take four times as long as another one.
constexpr std::size_t trial_bytes = std::size_t{64} << 10;
/// Less data is often still in a cache when it is read next, or overwritten.
constexpr std::size_t least_passed_bytes = std::size_t{4} << 20;

/// The bytes before the first cache line that begins in the memory, at least one.
std::size_t bytes_to_next_line(const char* to) noexcept {
  return cache_line_bytes - reinterpret_cast<std::uintptr_t>(to) % cache_line_bytes;
}

/// The bytes of the last cache line that the memory does not fill.
std::size_t bytes_before_end_of_lines(const char* end) noexcept {
  return reinterpret_cast<std::uintptr_t>(end) % cache_line_bytes;
}

constexpr std::size_t block_bytes = 4 * sizeof(__m256i);

struct Block {
  __m256i a, b, c, d;
};

[[gnu::target("avx2"), gnu::always_inline]] inline Block load_block(const char* from) noexcept {
  const auto* const source = reinterpret_cast<const __m256i*>(from);
  return {_mm256_loadu_si256(source), _mm256_loadu_si256(source + 1), _mm256_loadu_si256(source + 2),
          _mm256_loadu_si256(source + 3)};
}

[[gnu::target("avx2"), gnu::always_inline]] inline void copy_block(char* to, const char* from) noexcept {
  const Block block = load_block(from);
  auto* const destination = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(destination, block.a);
  _mm256_storeu_si256(destination + 1, block.b);
  _mm256_storeu_si256(destination + 2, block.c);
  _mm256_storeu_si256(destination + 3, block.d);
}

/// Copies at least a block. Stores do not cross cache lines, except in the first and the last block.
[[gnu::target("avx2")]] void copy_blocks(char* to, const char* from, std::size_t bytes) noexcept {
  copy_block(to, from);
  std::size_t at = bytes_to_next_line(to);
  for (; at + block_bytes <= bytes; at += block_bytes) copy_block(to + at, from + at);
  copy_block(to + bytes - block_bytes, from + bytes - block_bytes);
}

/// The same from the end to the begin. A processor lets a load wait that has the place in a page of a store
/// before it. Forwards that is so where the destination lies slightly after the source in its page.
[[gnu::target("avx2")]] void copy_blocks_backwards(char* to, const char* from, std::size_t bytes) noexcept {
  copy_block(to + bytes - block_bytes, from + bytes - block_bytes);
  std::size_t end = bytes - bytes_before_end_of_lines(to + bytes);
  for (; end >= block_bytes; end -= block_bytes) copy_block(to + end - block_bytes, from + end - block_bytes);
  copy_block(to, from);
}

constexpr std::size_t wide_block_bytes = 4 * sizeof(__m512i);

[[gnu::target("avx512f"), gnu::always_inline]] inline void copy_wide_block(char* to,
                                                                           const char* from) noexcept {
  const __m512i a = _mm512_loadu_si512(from);
  const __m512i b = _mm512_loadu_si512(from + sizeof a);
  const __m512i c = _mm512_loadu_si512(from + 2 * sizeof a);
  const __m512i d = _mm512_loadu_si512(from + 3 * sizeof a);
  _mm512_storeu_si512(to, a);
  _mm512_storeu_si512(to + sizeof a, b);
  _mm512_storeu_si512(to + 2 * sizeof a, c);
  _mm512_storeu_si512(to + 3 * sizeof a, d);
}

/// As copy_blocks().
[[gnu::target("avx512f")]] void copy_wide_blocks(char* to, const char* from, std::size_t bytes) noexcept {
  copy_wide_block(to, from);
  std::size_t at = bytes_to_next_line(to);
  for (; at + wide_block_bytes <= bytes; at += wide_block_bytes) copy_wide_block(to + at, from + at);
  copy_wide_block(to + bytes - wide_block_bytes, from + bytes - wide_block_bytes);
}

/// As copy_blocks_backwards().
[[gnu::target("avx512f")]] void copy_wide_blocks_backwards(char* to, const char* from,
                                                           std::size_t bytes) noexcept {
  copy_wide_block(to + bytes - wide_block_bytes, from + bytes - wide_block_bytes);
  std::size_t end = bytes - bytes_before_end_of_lines(to + bytes);
  for (; end >= wide_block_bytes; end -= wide_block_bytes)
    copy_wide_block(to + end - wide_block_bytes, from + end - wide_block_bytes);
  copy_wide_block(to, from);
}

[[gnu::target("avx2"), gnu::always_inline]] inline void stream_block(char* to, const char* from,
                                                                     const char* later) noexcept {
  _mm_prefetch(later, _MM_HINT_T0);
  _mm_prefetch(later + cache_line_bytes, _MM_HINT_T0);
  const Block block = load_block(from);
  auto* const destination = reinterpret_cast<__m256i*>(to);
  _mm256_stream_si256(destination, block.a);
  _mm256_stream_si256(destination + 1, block.b);
  _mm256_stream_si256(destination + 2, block.c);
  _mm256_stream_si256(destination + 3, block.d);
}

/// Stores past the caches, but for the lines at both ends that it does not fill. Takes a block of each of
/// several pages in turn, because the memory of several pages can work at the same time. `next`: where the
/// source goes on behind its end. The data must be visible before a store that tells of it: hence the fence.
[[gnu::target("avx2")]] void stream_blocks(char* to, const char* from, std::size_t bytes,
                                           const char* next) noexcept {
  constexpr std::size_t group_bytes = 4 * page_bytes;
  const auto later = [=](std::size_t place) { return place < bytes ? from + place : next + (place - bytes); };
  const std::size_t head = std::min(bytes, bytes_to_next_line(to) % cache_line_bytes);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + group_bytes <= bytes; at += group_bytes) {
    for (std::size_t i = 0; i < page_bytes; i += block_bytes) {
      for (std::size_t block = at + i; block < at + group_bytes; block += page_bytes)
        stream_block(to + block, from + block, later(block + group_bytes));
    }
  }
  constexpr std::size_t ahead = 2048;
  for (; at + block_bytes <= bytes; at += block_bytes) stream_block(to + at, from + at, later(at + ahead));
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();
}

void copy_string(char* to, const char* from, std::size_t bytes) noexcept {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

bool has_vectors() noexcept {
  static const bool has = SLUICE_PROCESSOR_HAS(AVX2, "avx2");
  return has;
}

/// Processors before those with VBMI2 (Ice Lake, Zen 4) lower their frequency for 64-byte vectors.
bool has_wide_vectors() noexcept {
  static const bool has = SLUICE_PROCESSOR_HAS(AVX512_VBMI2, "avx512vbmi2");
  return has;
}

void copy_by_vectors(char* to, const char* from, std::size_t bytes) noexcept {
  if (bytes < short_bytes && has_wide_vectors()) {
    copy_wide_blocks(to, from, bytes);
  } else {
    copy_blocks(to, from, bytes);
  }
}

void copy_by_vectors_backwards(char* to, const char* from, std::size_t bytes) noexcept {
  if (bytes < short_bytes && has_wide_vectors()) {
    copy_wide_blocks_backwards(to, from, bytes);
  } else {
    copy_blocks_backwards(to, from, bytes);
  }
}

/// The processor's clock, when all before has been done.
std::uint64_t ticks() noexcept {
  _mm_lfence();
  const std::uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
}

/// The fastest way for copies of one kind, as found in this process. Threads may use it together: they may
/// then disturb each other's trials, but not the copies.
class FastestWay {
 public:
  /// Copies the bytes in pieces. `copy` gets the way to copy, one of the first `ways` candidates, the place
  /// of the piece, and its length.
  template <class Copy>
  void copy(std::size_t bytes, std::size_t ways, const Copy& copy) noexcept {
    const std::uint32_t trials = static_cast<std::uint32_t>(ways) * trials_of_each;
    for (std::size_t at = 0; at < bytes;) {
      const bool is_trial = turn_.load(std::memory_order_relaxed) < trials;
      const std::size_t most = is_trial ? trial_bytes : piece_bytes;
      const std::size_t piece = bytes - at < 2 * most ? bytes - at : most;
      copy_whole(piece, ways, [&](CopyWay way) { copy(way, at, piece); });
      at += piece;
    }
  }

  /// Copies all at once, or one piece.
  template <class Copy>
  void copy_whole(std::size_t bytes, std::size_t ways, const Copy& copy) noexcept {
    const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
    const std::uint32_t trials = static_cast<std::uint32_t>(ways) * trials_of_each;
    if (turn >= trials) [[likely]] {
      const std::uint32_t copies = bytes < short_bytes ? short_copies_between_trials : copies_between_trials;
      turn_.store(turn < trials + copies ? turn + 1 : 0, std::memory_order_relaxed);
      copy(fastest_.load(std::memory_order_relaxed));
      return;
    }
    const std::size_t way = turn / run % ways;
    const std::size_t trial = turn / (run * ways) * run + turn % run;
    const std::uint64_t begin = ticks();
    copy(candidates[way]);
    const std::uint64_t ticks_per_mebibyte = ((ticks() - begin) << 20) / bytes;
    times_[way][trial].store(
        static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks_per_mebibyte, UINT32_MAX)),
        std::memory_order_relaxed);
    turn_.store(turn + 1, std::memory_order_relaxed);
    if (turn + 1 == trials) judge(ways);
  }

 private:
  static constexpr std::array<CopyWay, 4> candidates{CopyWay::vectors, CopyWay::backwards, CopyWay::string,
                                                     CopyWay::streaming};
  /// So many copies by one way, then as many by the next one, in so many rounds. The first copy of a run does
  /// not count: it finds what the other way has left in the caches.
  static constexpr std::uint32_t run = 4;
  static constexpr std::uint32_t rounds = 3;
  static constexpr std::uint32_t trials_of_each = run * rounds;
  static constexpr std::uint32_t copies_between_trials = 500;
  static constexpr std::uint32_t short_copies_between_trials = 4000;  ///< a trial takes longer than they do

  /// The median of the trials of each way decides, because other programs disturb single ones.
  void judge(std::size_t ways) noexcept {
    std::uint32_t least = UINT32_MAX;
    for (std::size_t way = 0; way < ways; ++way) {
      std::array<std::uint32_t, trials_of_each - rounds> times{};
      std::size_t count = 0;
      for (std::uint32_t trial = 0; trial < trials_of_each; ++trial)
        if (trial % run != 0) times[count++] = times_[way][trial].load(std::memory_order_relaxed);
      std::sort(times.begin(), times.end());
      if (times[times.size() / 2] >= least) continue;
      least = times[times.size() / 2];
      fastest_.store(candidates[way], std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint32_t> turn_ = 0;
  std::atomic<CopyWay> fastest_ = CopyWay::vectors;
  std::array<std::array<std::atomic<std::uint32_t>, trials_of_each>, candidates.size()> times_{};
};

/// The ends of the sizes of one kind. Within each, there are places where the destination lies in its page
/// up to half a page after the source, and others.
constexpr std::array<std::size_t, 6> kind_ends{shorter_bytes,          short_bytes, std::size_t{128} << 10,
                                               std::size_t{512} << 10, long_bytes,  uncached_bytes};
using WaysOfKind = std::array<FastestWay, 2>;
using FastestWays = std::array<WaysOfKind, kind_ends.size() + 1>;
constinit FastestWays fastest_ways;
constinit FastestWays fastest_ways_of_pieces;  ///< of data that fits in no cache

bool is_slightly_after(const char* to, const char* from) noexcept {
  const std::uintptr_t distance =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % page_bytes;
  return distance > 0 && distance < page_bytes / 2;
}

FastestWay& way_for(FastestWays& all, const char* to, const char* from, std::size_t bytes) noexcept {
  const auto size = static_cast<std::size_t>(std::upper_bound(kind_ends.begin(), kind_ends.end(), bytes) -
                                             kind_ends.begin());
  return all[size][is_slightly_after(to, from) ? 1 : 0];
}

constexpr std::size_t all_ways = 4;
constexpr std::size_t ways_by_caches = 3;

/// Whether whole copies are faster past the caches. Pieces do not tell: what was stored past the caches is in
/// none when it is overwritten next. Memory of some MiB that is used again and again is in the caches only
/// after several copies by them. So these are tried as long as they become faster.
class PastCaches {
 public:
  /// `copy` is told whether to go past the caches. The first copies of a process do: their memory is new.
  template <class Copy>
  void copy(std::size_t bytes, const Copy& copy) noexcept {
    const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
    turn_.store(turn + 1 < copies_of_cycle ? turn + 1 : 0, std::memory_order_relaxed);
    if (turn >= most_trials) return copy(is_faster_.load(std::memory_order_relaxed));
    const std::uint64_t begin = __rdtsc();
    copy(turn < trials_past);
    times_[turn].store((__rdtsc() - begin) / (bytes >> 10), std::memory_order_relaxed);
    if (turn + 1 < least_trials || (turn + 1 < most_trials && becomes_faster(turn))) return;
    // The first copy by a way finds what the other way has left.
    is_faster_.store(least_of(1, trials_past) < least_of(trials_past + 1, turn + 1));
    turn_.store(most_trials, std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::uint64_t least_of(std::uint32_t first, std::uint32_t end) const noexcept {
    std::uint64_t least = UINT64_MAX;
    for (std::uint32_t turn = first; turn < end; ++turn)
      least = std::min(least, times_[turn].load(std::memory_order_relaxed));
    return least;
  }
  /// Whether one of the last two copies by the caches was faster than those before. Single ones are
  /// disturbed.
  [[nodiscard]] bool becomes_faster(std::uint32_t last) const noexcept {
    constexpr std::uint64_t percent = 96;
    return least_of(last - 1, last + 1) * 100 < least_of(trials_past, last - 1) * percent;
  }

  static constexpr std::uint32_t trials_past = 4;
  static constexpr std::uint32_t least_trials = trials_past + 4;
  static constexpr std::uint32_t most_trials = trials_past + 9;
  static constexpr std::uint32_t copies_of_cycle = 200;
  std::atomic<std::uint32_t> turn_ = 0;
  std::atomic<bool> is_faster_ = false;
  std::array<std::atomic<std::uint64_t>, most_trials> times_{};  ///< processor ticks of a KiB
};
constinit std::array<PastCaches, 2> past_caches;

/// Less code on the way to a short copy.
void copy_short_by_fastest(char* to, const char* from, std::size_t bytes) noexcept {
  WaysOfKind& ways = fastest_ways[bytes < shorter_bytes ? 0 : 1];
  ways[is_slightly_after(to, from) ? 1 : 0].copy_whole(bytes, ways_by_caches, [=](CopyWay way) {
    if (way == CopyWay::string) return copy_string(to, from, bytes);
    if (way == CopyWay::backwards) return copy_by_vectors_backwards(to, from, bytes);
    copy_by_vectors(to, from, bytes);
  });
}

void copy_by_fastest(char* to, const char* from, std::size_t bytes) noexcept {
  const auto copy_piece_by = [&](CopyWay way, std::size_t at, std::size_t piece) {
    copy_by(way, to + at, from + at, piece);
  };
  FastestWay& fastest = way_for(fastest_ways, to, from, bytes);
  if (bytes >= uncached_bytes) return fastest.copy(bytes, all_ways, copy_piece_by);
  // What goes past the caches is slow to read for whoever reads it next, so smaller copies do not.
  if (bytes < long_bytes)
    return fastest.copy_whole(bytes, ways_by_caches, [&](CopyWay way) { copy_by(way, to, from, bytes); });
  if (bytes < least_passed_bytes) return fastest.copy(bytes, ways_by_caches, copy_piece_by);
  past_caches[is_slightly_after(to, from) ? 1 : 0].copy(bytes, [&](bool is_past) {
    if (is_past) return copy_by(CopyWay::streaming, to, from, bytes);
    fastest.copy(bytes, ways_by_caches, copy_piece_by);
  });
}

}  // namespace

void copy_bytes(void* destination, const void* source, std::size_t bytes) noexcept {
  auto* const to = static_cast<char*>(destination);
  const auto* const from = static_cast<const char*>(source);
  if (bytes < least_bytes || !has_vectors()) {
    std::memcpy(destination, source, bytes);
  } else if (bytes >= short_bytes) {
    copy_by_fastest(to, from, bytes);
  } else if (bytes >= least_timed_bytes) {
    copy_short_by_fastest(to, from, bytes);
  } else if (is_slightly_after(to, from)) {
    copy_by_vectors_backwards(to, from, bytes);
  } else {
    copy_by_vectors(to, from, bytes);
  }
}

void copy_piece(void* destination, const void* source, std::size_t bytes, const void* next) noexcept {
  if (bytes < least_piece_bytes || bytes >= least_passed_bytes || !has_vectors())
    return copy_bytes(destination, source, bytes);
  auto* const to = static_cast<char*>(destination);
  const auto* const from = static_cast<const char*>(source);
  const auto copy = [&](CopyWay way, std::size_t at, std::size_t piece) {
    const char* const then = at + piece < bytes ? from + at + piece : static_cast<const char*>(next);
    if (way == CopyWay::streaming) return stream_blocks(to + at, from + at, piece, then);
    copy_by(way, to + at, from + at, piece);
  };
  way_for(fastest_ways_of_pieces, to, from, bytes).copy(bytes, all_ways, copy);
}

bool can_copy_by(CopyWay way) noexcept {
  return way == CopyWay::library || way == CopyWay::string || has_vectors();
}

void copy_by(CopyWay way, void* destination, const void* source, std::size_t bytes) noexcept {
  auto* const to = static_cast<char*>(destination);
  const auto* const from = static_cast<const char*>(source);
  if (way == CopyWay::library || (way != CopyWay::string && bytes < least_bytes)) {
    std::memcpy(destination, source, bytes);
  } else if (way == CopyWay::string) {
    copy_string(to, from, bytes);
  } else if (way == CopyWay::vectors) {
    copy_by_vectors(to, from, bytes);
  } else if (way == CopyWay::backwards) {
    copy_by_vectors_backwards(to, from, bytes);
  } else {
    stream_blocks(to, from, bytes, from + bytes);
  }
}

#else

void copy_bytes(void* destination, const void* source, std::size_t bytes) noexcept {
  std::memcpy(destination, source, bytes);
}

void copy_piece(void* destination, const void* source, std::size_t bytes, const void* /*next*/) noexcept {
  std::memcpy(destination, source, bytes);
}

bool can_copy_by(CopyWay way) noexcept {
  return way == CopyWay::library;
}

void copy_by(CopyWay, void* destination, const void* source, std::size_t bytes) noexcept {
  std::memcpy(destination, source, bytes);
}

#endif

}  // namespace sluice::formats
