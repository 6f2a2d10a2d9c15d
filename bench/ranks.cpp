// Measures what grows with the number of ranks: the messages, bytes and processor time of matcher 0 for a
// file that all processes of one component write and all processes of another one read, and the memory of the
// registry. tests/support/rank_world.hpp says what is real and what is simulated.
//
//     ranks NODES WRITERS READERS
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sluice/formats/error.hpp"
#include "support/heap_bytes.hpp"
#include "support/rank_world.hpp"
#include "warm_heap.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

void print(const PhaseCost& cost) {
  std::printf("%-28s %10.1f %9llu %9llu %9llu %12llu %9llu %14llu %10.1f\n", cost.name.c_str(),
              cost.milliseconds, static_cast<unsigned long long>(cost.taken),
              static_cast<unsigned long long>(cost.sent), static_cast<unsigned long long>(cost.packets_in),
              static_cast<unsigned long long>(cost.bytes_in),
              static_cast<unsigned long long>(cost.packets_out),
              static_cast<unsigned long long>(cost.bytes_out), cost.last_milliseconds);
  std::fflush(stdout);
}

/// A file, with or without readers that wait for it before it exists.
PhaseCost file(RankWorld& world, const std::string& name, bool readers_wait) {
  PhaseCost all{"together"};
  const auto note = [&](const PhaseCost& cost) {
    print(cost);
    all += cost;
  };
  if (readers_wait) note(world.open(name));
  note(world.create(name));
  note(world.define());
  note(world.publish());
  if (!readers_wait) note(world.open(name));
  note(world.fetch());
  note(world.close());
  print(all);
  return all;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: ranks NODES WRITERS READERS\n");
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::strtoul(words[i], nullptr, 10)); };
  const RunSize size{number(1), number(2), number(3)};
  prepare_heap(matcher_heap_bytes);
  try {
    RankWorld world(size);
    const std::size_t begun = heap_bytes();
    std::printf("%u nodes, %u writers, %u readers\n", size.nodes, size.writers, size.readers);
    std::printf("%-28s %10s %9s %9s %9s %12s %9s %14s %10s\n", "", "ms", "taken", "sent", "packets",
                "bytes in", "packets", "bytes out", "ms of last");
    print(world.connect());
    std::printf("registry: %.0f bytes a process\n",
                static_cast<double>(heap_bytes() - begun) / (size.writers + size.readers));
    std::printf("the first file, whose readers come when it is published:\n");
    (void)file(world, "first.nc", false);
    std::printf("a later file, whose readers wait for it:\n");
    (void)file(world, "second.nc", true);
    // From the third file on, segments of consumed files are lent again, as in any run of many steps.
    std::printf("files of a run that goes on:\n");
    constexpr int files = 5;
    for (int i = 0; i < files; ++i) (void)file(world, "later_" + std::to_string(i) + ".nc", true);
    const std::size_t step_bytes = bytes_of_step(size.nodes, size.writers);
    std::printf("registry: %zu bytes for a step, %.0f for each writer\n", step_bytes,
                static_cast<double>(step_bytes) / size.writers);
    for (const std::string& event : world.events()) std::printf("event: %s\n", event.c_str());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
