// Runs of many simulated processes on many simulated nodes, with the registry and the tree of matchers.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "support/heap_bytes.hpp"
#include "support/rank_world.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr RunSize many{73, 292, 219};

/// All processes have as many answers, and no error.
void check_answers(const std::vector<SimulatedProcess>& processes, std::uint64_t answers) {
  for (const SimulatedProcess& process : processes) {
    CHECK(process.answers == answers);
    CHECK(process.errors == 0);
  }
}

}  // namespace

TEST_SUITE("many ranks") {
  TEST_CASE(
      "each process gets its answer, behind one view for its matcher, before or after the publication") {
    for (const bool readers_wait : {false, true}) {
      RankWorld world(many);
      (void)world.connect();
      if (readers_wait) (void)world.open("a.nc");
      (void)world.create("a.nc");
      check_answers(world.writers(), 1);
      (void)world.define();
      (void)world.publish();
      if (!readers_wait) (void)world.open("a.nc");
      check_answers(world.readers(), 1);
      for (const SimulatedProcess& reader : world.readers()) {
        CHECK(reader.step == world.writers().front().step);
        CHECK(reader.views_of_step == 1);
      }
      (void)world.fetch();
      (void)world.close();
      CHECK(world.events().empty());
      CHECK(world.service().status().rules.size() == 1);
    }
  }

  TEST_CASE("a kept step is written by all nodes that have data of it, however many processes wrote it") {
    FileRule rule{"*.nc", "model", {"analysis"}};
    rule.keep.keeps = true;
    for (const std::uint32_t writers : {64U, 2048U}) {
      RankWorld world({4, writers, 1}, rule);
      (void)world.connect();
      (void)world.create("a.nc");
      (void)world.define();
      (void)world.publish();
      CHECK(world.drainers() == std::set<std::uint32_t>{0, 1, 2, 3});
    }
  }

  TEST_CASE("what readers are told is sent once to each neighbour, however many nodes there are") {
    const auto bytes_of_open = [](std::uint32_t nodes) {
      RankWorld world({nodes, 8, 219});
      (void)world.connect();
      (void)world.create("a.nc");
      (void)world.define();
      (void)world.publish();
      return world.open("a.nc").bytes_out;
    };
    // Matcher 0 has eight neighbours in both. Each writer is on a node of its own, so both views are alike.
    CHECK(bytes_of_open(73) < bytes_of_open(9) + 2 * 73 * sizeof(Receiver));
  }

  TEST_CASE("the registry takes as many messages of a call as there are nodes, however many processes") {
    const auto taken_in = [](std::uint32_t processes) {
      RankWorld world({73, processes, processes});
      (void)world.connect();
      PhaseCost all = world.open("a.nc");
      all += world.create("a.nc");
      all += world.define();
      all += world.publish();
      all += world.close();
      // Those of matcher 0 are function calls: an open, a close; a create, two grants, a publication.
      std::uint64_t own = 0;
      for (const auto* const component : {&world.writers(), &world.readers()})
        own += static_cast<std::uint64_t>(std::ranges::count(*component, 0U, &SimulatedProcess::matcher));
      return std::pair(all.taken, own);
    };
    const auto [few, own_of_few] = taken_in(292);
    const auto [many_taken, own_of_many] = taken_in(1168);
    CHECK(many_taken - few <= 4 * (own_of_many - own_of_few));
  }

  TEST_CASE("a published step takes a few bytes of the registry for each writer") {
    constexpr RunSize size{64, 4096, 1};
    constexpr std::size_t of_header_and_step = 8192;
    CHECK(bytes_of_step(size.nodes, size.writers) < of_header_and_step + std::size_t{40} * size.writers);
  }

  TEST_CASE("a wrong member among the others is refused alone") {
    RankWorld world(many);
    (void)world.connect();
    world.writers().at(100).rank = world.writers().at(101).rank;  // so nobody has the rank of the one
    (void)world.create("a.nc");
    std::uint64_t answers = 0, errors = 0;
    for (const SimulatedProcess& writer : world.writers()) answers += writer.answers, errors += writer.errors;
    CHECK(errors == 1);
    CHECK(answers == world.writers().size());
    CHECK(world.writers().at(100).errors + world.writers().at(101).errors == 1);
  }

  TEST_CASE("a writer that dies ends the step, and the others hear of it once") {
    RankWorld world(many);
    (void)world.connect();
    (void)world.create("a.nc");
    (void)world.define();
    (void)world.end(world.writers().at(100));
    (void)world.publish();
    (void)world.create("b.nc");
    CHECK(world.writers().front().step > 0);
    CHECK(world.events().size() == 1);
  }

  TEST_CASE("all processes of a group open a file for writing and get the new step") {
    RankWorld world(many);
    (void)world.connect();
    (void)world.create("a.nc");
    (void)world.define();
    (void)world.publish();
    const std::uint64_t first = world.writers().front().step;
    (void)world.reopen("a.nc");
    for (const SimulatedProcess& writer : world.writers()) CHECK(writer.step > first);
  }
}
