// Measures the minimal cost of a step through shared memory. M processes copy the same bytes into shared
// memory at the same time; then N processes copy them out at the same time. All buffers are warm, and idle
// processes sleep. As in a coupled step, the shared memory has huge pages where possible. Each way to copy
// has its turn in each repetition, and the fastest counts. Prints the pages and the way, then one line per
// repetition, in nanoseconds.
//
//     memory_copies BYTES WRITERS READERS REPETITIONS
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "sluice/formats/copy_bytes.hpp"
#include "sluice/runtime/huge_page_files.hpp"
#include "step_block.hpp"

using namespace sluice::bench;

namespace {

/// Maps a file, or anonymous memory (-1).
void* shared_memory(std::size_t bytes, int file = -1) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return memory;
}

/// The memory of a segment of this size, as in a run.
struct Log {
  char* bytes = nullptr;
  bool has_huge_pages = false;
};
Log make_log(std::size_t bytes) {
  constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
  const auto files = bytes >= huge_page_bytes ? sluice::runtime::HugePageFiles::make() : std::nullopt;
  if (!files) return {static_cast<char*>(shared_memory(bytes)), false};
  const auto file = files->create((bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes);
  return {static_cast<char*>(shared_memory(bytes, file.number())), true};
}

/// The ways to copy: at once by the C library or by the loop that puts and gets use, or in pieces by that
/// loop. A piece is as large as a row of a reader's part in the step benchmark.
struct Way {
  const char* name;
  void (*copy)(char* to, const char* from, std::size_t bytes);
};
constexpr std::array<Way, 3> ways{
    {{"memcpy", [](char* to, const char* from, std::size_t bytes) { std::memcpy(to, from, bytes); }},
     {"the loop of puts",
      [](char* to, const char* from, std::size_t bytes) { sluice::formats::copy_bytes(to, from, bytes); }},
     {"pieces of 16 KiB", [](char* to, const char* from, std::size_t bytes) {
        constexpr std::size_t piece = std::size_t{16} << 10;
        for (std::size_t at = 0; at < bytes; at += piece)
          sluice::formats::copy_bytes(to + at, from + at, std::min(piece, bytes - at));
      }}}};

/// The memory that all processes share.
struct Shared {
  pthread_barrier_t barrier;
  char* log = nullptr;        ///< the bytes under way
  StepTime* times = nullptr;  ///< [way][repetition][process]
};

struct Role {
  bool is_writer = false;
  std::size_t first = 0;  ///< its part of the bytes
  std::size_t bytes = 0;
};

void run(Shared& shared, const Role& role, int process, int processes, int repetitions) {
  std::vector<char> own(role.bytes, static_cast<char>(process));
  char* log = shared.log + role.first;
  const auto turns = static_cast<int>(ways.size()) * repetitions;
  for (int turn = 0; turn < turns; ++turn) {
    const auto way = static_cast<std::size_t>(turn) % ways.size();
    const int repetition = turn / static_cast<int>(ways.size());
    StepTime& time = shared.times[(static_cast<int>(way) * repetitions + repetition) * processes + process];
    pthread_barrier_wait(&shared.barrier);
    if (!role.is_writer) pthread_barrier_wait(&shared.barrier);
    time.begin_ns = now_ns();
    if (role.is_writer) {
      ways[way].copy(log, own.data(), role.bytes);
    } else {
      ways[way].copy(own.data(), log, role.bytes);
    }
    time.end_ns = now_ns();
    if (role.is_writer) pthread_barrier_wait(&shared.barrier);
  }
}

std::int64_t span_ns(const StepTime* first, const StepTime* end) {
  std::int64_t begin_ns = first->begin_ns;
  std::int64_t end_ns = first->end_ns;
  for (const StepTime* time = first; time != end; ++time) {
    begin_ns = std::min(begin_ns, time->begin_ns);
    end_ns = std::max(end_ns, time->end_ns);
  }
  return end_ns - begin_ns;
}

/// The time of each repetition by one way.
std::vector<std::int64_t> spans_ns(const StepTime* times, int repetitions, int writers, int processes) {
  std::vector<std::int64_t> spans;
  for (int repetition = 0; repetition < repetitions; ++repetition, times += processes)
    spans.push_back(span_ns(times, times + writers) + span_ns(times + writers, times + processes));
  return spans;
}

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: memory_copies BYTES WRITERS READERS REPETITIONS\n");
    return 2;
  }
  const auto bytes = static_cast<std::size_t>(std::atoll(argv[1]));
  const int writers = std::atoi(argv[2]);
  const int readers = std::atoi(argv[3]);
  const int repetitions = std::max(std::atoi(argv[4]), 1);
  const int processes = writers + readers;
  const Log log = make_log(bytes);

  auto* shared = new (shared_memory(sizeof(Shared))) Shared;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->barrier, &attributes, static_cast<unsigned>(processes));
  shared->log = log.bytes;
  shared->times = static_cast<StepTime*>(
      shared_memory(sizeof(StepTime) * ways.size() * static_cast<std::size_t>(repetitions) *
                    static_cast<std::size_t>(processes)));
  for (int process = 0; process < processes; ++process) {
    if (fork() != 0) continue;
    const bool is_writer = process < writers;
    const auto part = static_cast<std::size_t>(is_writer ? process : process - writers);
    const auto parts = static_cast<std::size_t>(is_writer ? writers : readers);
    const std::size_t first = bytes * part / parts;
    run(*shared, {is_writer, first, bytes * (part + 1) / parts - first}, process, processes, repetitions);
    _exit(0);
  }
  while (wait(nullptr) > 0) {
  }
  std::vector<std::int64_t> best;
  const char* way = "";
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const StepTime* const times = shared->times + static_cast<int>(i) * repetitions * processes;
    const auto spans = spans_ns(times, repetitions, writers, processes);
    if (!best.empty() && median(spans) >= median(best)) continue;
    best = spans;
    way = ways[i].name;
  }
  std::printf("%s pages, %s\n", log.has_huge_pages ? "huge" : "small", way);
  for (const auto span : best) std::printf("%lld\n", static_cast<long long>(span));
  return 0;
}
