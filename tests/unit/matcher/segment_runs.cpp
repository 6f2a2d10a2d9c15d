// Segments in use as runs.
#include "sluice/matcher/segment_runs.hpp"

#include <doctest/doctest.h>

#include <random>

#include "registry_world.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

SegmentLease lend(SegmentPool& pool, std::uint64_t bytes) {
  auto lease = pool.recycle({bytes});
  if (!lease) lease = pool.make({bytes});
  REQUIRE(lease.has_value());
  return std::move(*lease);
}

}  // namespace

TEST_SUITE("matcher.segment_runs") {
  TEST_CASE("segments at equal distances are one run, and the pool gets all of them back") {
    PlainMemory memory;
    SegmentPool pool(memory, 64 * mib);
    {
      SegmentRuns tables, data;
      for (int i = 0; i < 100; ++i) {
        tables.add(lend(pool, 4 * kib));
        data.add(lend(pool, 64 * kib));
      }
      CHECK(tables.runs().size() == 1);
      CHECK(data.runs().size() == 1);
      CHECK(data.runs().front().row.count == 100);
      CHECK(pool.used_bytes() == 100 * 68 * kib);
    }
    CHECK(pool.used_bytes() == 0);
    CHECK(pool.free_bytes() == 100 * 68 * kib);
  }

  TEST_CASE("the first segment is lent first again") {
    PlainMemory memory;
    SegmentPool pool(memory, 64 * mib);
    std::vector<SegmentId> ids;
    {
      SegmentRuns runs;
      for (int i = 0; i < 5; ++i) {
        SegmentLease lease = lend(pool, 4 * kib);
        ids.push_back(lease.id());
        runs.add(std::move(lease));
      }
    }
    std::vector<SegmentLease> again;
    for (const SegmentId id : ids) {
      again.push_back(lend(pool, 4 * kib));
      CHECK(again.back().id() == id);
    }
  }

  TEST_CASE("two segments of one run go back to the matchers that own them") {
    PlainMemory memory;
    SegmentPool pool(memory, 64 * mib);
    const auto make = [&](std::uint32_t matcher) {
      SegmentPool::Request request{4 * kib};
      request.matcher = matcher;
      auto lease = pool.recycle(request);
      if (!lease) lease = pool.make(request);
      REQUIRE(lease.has_value());
      return std::move(*lease);
    };
    SegmentId first = 0, second = 0;
    {
      SegmentRuns runs;
      for (const std::uint32_t matcher : {0U, 1U}) {
        SegmentLease lease = make(matcher);
        (matcher == 0 ? first : second) = lease.id();
        runs.add(std::move(lease));
      }
      CHECK(runs.runs().size() == 1);
    }
    const SegmentLease of_second = make(1), of_first = make(0);
    CHECK(of_second.id() == second);
    CHECK(of_first.id() == first);
  }

  TEST_CASE("whatever was added comes back in its order, with what it is charged") {
    std::mt19937 random(sluice::test::test_seed());
    PlainMemory memory;
    SegmentPool pool(memory, 256 * mib);
    SegmentPool other(memory, 256 * mib, 1);
    std::vector<SegmentId> ids;
    std::vector<std::uint64_t> charged;
    SegmentRuns all;
    for (int part = 0; part < 20; ++part) {
      SegmentRuns runs;
      for (auto left = random() % 20; left > 0; --left) {
        SegmentLease lease = lend(random() % 8 == 0 ? other : pool, random() % 3 == 0 ? 4 * kib : 64 * kib);
        if (random() % 4 == 0) lease.trim(100);
        ids.push_back(lease.id());
        charged.push_back(lease.charged_bytes());
        runs.add(std::move(lease));
      }
      all.append(std::move(runs));
      CHECK(runs.runs().empty());
    }
    std::uint64_t count = 0;
    for (const SegmentRuns::Run& run : all.runs()) count += run.row.count;
    CHECK(count == ids.size());
    const std::vector<SegmentLease> taken = all.take();
    REQUIRE(taken.size() == ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      CHECK(taken[i].id() == ids[i]);
      CHECK(taken[i].charged_bytes() == charged[i]);
    }
    CHECK(all.runs().empty());
  }
}
