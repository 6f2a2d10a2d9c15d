// Sets of processes.
#include "sluice/matcher/process_set.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <vector>

#include "support/seed.hpp"

using namespace sluice::matcher;

TEST_CASE("a set of processes has what was inserted, however it was") {
  std::mt19937 random(sluice::test::test_seed());
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (int round = 0; round < 100; ++round) {
    ProcessSet set;
    std::set<ProcessId> plain;
    const std::uint64_t end = 1 + below(2000);
    CHECK(set.empty());
    for (std::uint64_t insertions = below(12); insertions > 0; --insertions) {
      std::vector<ProcessId> added;
      std::uint64_t number = below(end);
      for (std::uint64_t i = below(300); i > 0; --i) {
        number = below(5) == 0 ? below(end) : number + 1;
        added.push_back(ProcessId{number});
      }
      set.insert(added);
      plain.insert(added.begin(), added.end());
      if (below(3) == 0) {
        set.insert(ProcessId{number});
        plain.insert(ProcessId{number});
      }
      CHECK(set.size() == plain.size());
      CHECK(set.empty() == plain.empty());
    }
    for (std::uint64_t number = 0; number < end + 400; ++number)
      CHECK(set.contains(ProcessId{number}) == plain.contains(ProcessId{number}));
  }
}
