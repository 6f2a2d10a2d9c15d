// Measures each way to copy, and the copy that puts and gets make, at sizes from 4 KiB to 512 MiB: aligned or
// not; within the caches (hot: one pair of buffers again and again) or not (cold: through 256 MiB in turn).
// The ways take turns in a random order, and the lower third of the times of each counts. Each size is
// measured in a process of its own, because the copy of puts and gets learns from the copies before. Prints
// one line a case: size, place, GB/s of the fastest way, and for each way its time over that of the fastest.
//
//     copies [LARGEST_KIB]
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "sluice/formats/copy_bytes.hpp"
#include "step_block.hpp"

using namespace sluice::bench;
using sluice::formats::CopyWay;

namespace {

struct Way {
  const char* name;
  void (*copy)(char* to, const char* from, std::size_t bytes);
};

template <CopyWay way>
void copy_by(char* to, const char* from, std::size_t bytes) {
  sluice::formats::copy_by(way, to, from, bytes);
}

constexpr std::array<Way, 6> ways{{{"memcpy", copy_by<CopyWay::library>},
                                   {"vectors", copy_by<CopyWay::vectors>},
                                   {"backwards", copy_by<CopyWay::backwards>},
                                   {"rep movsb", copy_by<CopyWay::string>},
                                   {"streaming", copy_by<CopyWay::streaming>},
                                   {"Sluice", [](char* to, const char* from, std::size_t bytes) {
                                      sluice::formats::copy_bytes(to, from, bytes);
                                    }}}};

struct Place {
  const char* name;
  std::size_t to, from;  ///< offsets in a page
};
constexpr std::array<Place, 4> places{
    {{"aligned", 0, 0}, {"segment to malloc", 16, 0}, {"malloc to segment", 0, 16}, {"odd", 197, 1}}};

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t turn_bytes = std::size_t{256} << 20;
constexpr std::size_t most_bytes = std::size_t{512} << 20;

char* memory(std::size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  madvise(mapped, bytes, MADV_HUGEPAGE);
  std::memset(mapped, 1, bytes);
  return static_cast<char*>(mapped);
}

/// Nanoseconds of one copy by each way.
std::array<double, ways.size()> measure(const Place& place, std::size_t bytes, bool is_hot) {
  const std::size_t distance = (bytes + 2 * page_bytes - 1) / page_bytes * page_bytes;
  const std::size_t most = is_hot || bytes > turn_bytes / 2 ? distance : turn_bytes;
  char* const to = memory(most) + place.to;
  const char* const from = memory(most) + place.from;
  const std::size_t copies = std::max<std::size_t>(1, (std::size_t{512} << 10) / bytes);
  const std::size_t rounds = bytes >= (std::size_t{64} << 20)  ? 12
                             : bytes >= (std::size_t{4} << 20) ? 40
                                                               : 150;
  // After a way past the caches, some MiB are in them only after several copies.
  const std::size_t copies_before = bytes < (std::size_t{32} << 20) ? 8 : 1;
  std::array<std::vector<double>, ways.size()> times;
  // What a way leaves in the caches decides how fast the next one is, so the order must change.
  std::mt19937 random(1);
  std::array<std::size_t, ways.size()> order{};
  std::iota(order.begin(), order.end(), 0);
  std::size_t at = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t way : order) {
      if (is_hot)
        copy_by<CopyWay::vectors>(to, from, bytes);  // `rep movsb` does not bring all into the caches
      for (std::size_t copy = 0; is_hot && copy < copies_before; ++copy) ways[way].copy(to, from, bytes);
      const std::int64_t begin_ns = now_ns();
      for (std::size_t copy = 0; copy < copies; ++copy) {
        ways[way].copy(to + at, from + at, bytes);
        at = at + 2 * distance > most ? 0 : at + distance;
      }
      times[way].push_back(static_cast<double>(now_ns() - begin_ns) / static_cast<double>(copies));
    }
  }
  std::array<double, ways.size()> result{};
  for (std::size_t way = 0; way < ways.size(); ++way) {
    std::sort(times[way].begin(), times[way].end());
    result[way] = times[way][times[way].size() / 3];
  }
  return result;
}

void print(std::size_t bytes, const char* where, const char* place,
           const std::array<double, ways.size()>& times) {
  const double best = *std::min_element(times.begin(), times.end());
  std::printf("%9zu  %-4s  %-17s %7.1f", bytes >> 10, where, place, static_cast<double>(bytes) / best);
  for (const double time : times) std::printf(" %9.2f", time / best);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t largest = argc > 1 ? static_cast<std::size_t>(std::atoll(argv[1])) << 10 : most_bytes;
  if (!sluice::formats::can_copy_by(CopyWay::streaming)) {
    std::fprintf(stderr, "this processor has no vectors: every copy is memcpy\n");
    return 0;
  }
  std::printf("%9s  %-4s  %-17s %7s", "KiB", "", "place", "GB/s");
  for (const Way& way : ways) std::printf(" %9s", way.name);
  std::printf("\n");
  std::fflush(stdout);
  for (const bool is_hot : {true, false}) {
    for (std::size_t bytes = page_bytes; bytes <= largest; bytes *= 2) {
      for (const Place& place : places) {
        const pid_t child = fork();
        if (child == 0) {
          print(bytes, is_hot ? "hot" : "cold", place.name, measure(place, bytes, is_hot));
          _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) return 1;
      }
    }
  }
  return 0;
}
