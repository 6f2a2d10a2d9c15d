#include "sluice/matcher/log_extent.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "sluice/matcher/owned_extent.hpp"
#include "sluice/matcher/step_pattern.hpp"
#include "support/dense_reference.hpp"
#include "support/exchange_world.hpp"
#include "support/seed.hpp"

using namespace sluice;
using formats::Hyperslab;
using matcher::LogExtent;
using matcher::LogPatternBuilder;
using matcher::OwnedExtent;
using matcher::StepPartition;

namespace {

void put(LogPatternBuilder& log, const formats::Header& header, int varid, const Hyperslab& box) {
  const formats::HyperslabView view = box.view();
  log.add({varid, false, false, 0, header.variable(varid).dimids},
          matcher::summarize(std::span(&view, 1), false));
}

std::vector<bool> asked(const LogExtent& extent, const formats::Header& header,
                        const StepPartition& partition) {
  std::vector<bool> may_hold;
  for (std::uint32_t owner = 0; owner < partition.owners(); ++owner)
    may_hold.push_back(OwnedExtent(header, partition, owner).may_hold(extent));
  return may_hold;
}

}  // namespace

TEST_CASE("an owner of any element that was put asks its writer") {
  test::HyperslabGenerator random(test::test_seed());
  std::size_t not_asked = 0;
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    std::vector<std::vector<std::int64_t>> shapes;
    for (std::int64_t i = random.between(1, 5); i > 0; --i) {
      shapes.push_back(random.shape(static_cast<std::size_t>(random.between(0, 4)), 200));
      if (!shapes.back().empty() && random.chance(40)) shapes.back()[0] = -1;
    }
    const auto header = test::header_of_shapes(shapes, random.between(0, 12));
    const StepPartition partition(
        header, {random.chance(80) ? matcher::PartitionKind::range : matcher::PartitionKind::variable,
                 static_cast<std::uint32_t>(random.between(1, 9)), random.between(1, 30)});
    LogPatternBuilder log(0);
    std::set<std::uint32_t> owners;
    for (std::int64_t i = random.between(0, 3); i > 0; --i) {
      const auto varid = static_cast<int>(random.between(0, header.variable_count() - 1));
      const auto shape = header.shape(varid);
      if (test::elements_of(shape) == 0) continue;
      const Hyperslab box = random.hyperslab(shape);
      put(log, header, varid, box);
      std::vector<matcher::OwnedPart> parts;
      partition.of(varid).divide(box.view(), parts);
      for (const matcher::OwnedPart& part : parts) owners.insert(part.owner);
    }
    const auto may_hold = asked(log.extent(), header, partition);
    for (std::uint32_t owner = 0; owner < partition.owners(); ++owner) {
      if (owners.contains(owner)) CHECK(may_hold[owner]);
      if (!may_hold[owner]) ++not_asked;
    }
  }
  CHECK(not_asked > 500);
}

TEST_CASE("bands of rows concern only the owners of the rows") {
  const auto header = test::header_of_shapes({{40, 10}}, 0);
  const StepPartition partition(header, {matcher::PartitionKind::range, 4, 1});
  LogPatternBuilder log(0);
  put(log, header, 0, {{10, 0}, {10, 10}, {}});
  CHECK(asked(log.extent(), header, partition) == std::vector<bool>{false, true, false, false});
  put(log, header, 0, {{20, 3}, {1, 1}, {}});
  CHECK(asked(log.extent(), header, partition) == std::vector<bool>{false, true, true, false});
  put(log, header, 0, {{39, 3}, {1, 0}, {}});  // nothing
  CHECK(asked(log.extent(), header, partition) == std::vector<bool>{false, true, true, false});
}

TEST_CASE("a process without puts is not asked, and one with unknown puts is asked by all") {
  const auto header = test::header_of_shapes({{40, 10}}, 0);
  const StepPartition partition(header, {matcher::PartitionKind::range, 3, 1});
  LogPatternBuilder log(0);
  CHECK(asked(log.extent(), header, partition) == std::vector<bool>{false, false, false});
  log.spoil(7);
  CHECK(asked(log.extent(), header, partition) == std::vector<bool>{true, true, true});
  put(log, header, 0, {{0, 0}, {1, 1}, {}});
  CHECK(asked(log.extent(), header, partition) == std::vector<bool>{true, true, true});
  CHECK(asked({}, header, partition) == std::vector<bool>{true, true, true});
}

TEST_CASE("more dimensions than an extent tells of are anywhere") {
  const std::vector<std::vector<std::int64_t>> shapes(LogExtent::most_dimensions + 1, {30});
  const auto header = test::header_of_shapes(shapes, 0);
  const StepPartition partition(header, {matcher::PartitionKind::range, 3, 1});
  LogPatternBuilder log(0);
  for (int varid = 0; varid < header.variable_count(); ++varid) put(log, header, varid, {{0}, {1}, {}});
  CHECK(log.extent().dimensions.size() == LogExtent::most_dimensions);
  const auto last = header.variable_count() - 1;
  for (std::uint32_t owner = 0; owner < 3; ++owner) {
    if (partition.of(last).range_of(owner))
      CHECK(OwnedExtent(header, partition, owner).may_hold(log.extent()));
  }
}
