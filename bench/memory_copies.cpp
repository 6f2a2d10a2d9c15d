// The least that a step through shared memory can cost: the same bytes copied into shared memory by M
// processes at the same time, then out of it by N processes at the same time. All buffers are warm; who has
// nothing to do sleeps. Prints one line per repetition, in nanoseconds.
//
//   memory_copies BYTES WRITERS READERS REPETITIONS
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "step_block.hpp"

using namespace sluice::bench;

namespace {

void* shared_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return memory;
}

/// What all processes see.
struct Shared {
  pthread_barrier_t barrier;
  char* log = nullptr;        ///< the bytes on their way
  StepTime* times = nullptr;  ///< [repetition][process]
};

struct Role {
  bool is_writer = false;
  std::size_t first = 0;  ///< its part of the bytes
  std::size_t bytes = 0;
};

void run(Shared& shared, const Role& role, int process, int processes, int repetitions) {
  std::vector<char> own(role.bytes, static_cast<char>(process));
  char* log = shared.log + role.first;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    StepTime& time = shared.times[repetition * processes + process];
    pthread_barrier_wait(&shared.barrier);
    if (!role.is_writer) pthread_barrier_wait(&shared.barrier);
    time.begin_ns = now_ns();
    if (role.is_writer) {
      std::memcpy(log, own.data(), role.bytes);
    } else {
      std::memcpy(own.data(), log, role.bytes);
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: memory_copies BYTES WRITERS READERS REPETITIONS\n");
    return 2;
  }
  const auto bytes = static_cast<std::size_t>(std::atoll(argv[1]));
  const int writers = std::atoi(argv[2]);
  const int readers = std::atoi(argv[3]);
  const int repetitions = std::atoi(argv[4]);
  const int processes = writers + readers;

  auto* shared = new (shared_memory(sizeof(Shared))) Shared;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->barrier, &attributes, static_cast<unsigned>(processes));
  shared->log = static_cast<char*>(shared_memory(bytes));
  shared->times = static_cast<StepTime*>(shared_memory(
      sizeof(StepTime) * static_cast<std::size_t>(repetitions) * static_cast<std::size_t>(processes)));
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
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const StepTime* times = shared->times + repetition * processes;
    std::printf("%lld\n", static_cast<long long>(span_ns(times, times + writers) +
                                                 span_ns(times + writers, times + processes)));
  }
  return 0;
}
