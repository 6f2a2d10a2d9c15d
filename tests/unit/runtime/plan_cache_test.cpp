#include "sluice/runtime/plan_cache.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::runtime;

namespace {

std::shared_ptr<const SharedPlan> plan_of(std::size_t copies) {
  replay::Plan plan;
  plan.elements = static_cast<std::int64_t>(copies);
  for (std::size_t i = 0; i < copies; ++i)
    plan.copies.push_back({.writer = 1, .log_offset = 16 * i, .destination = static_cast<std::int64_t>(i)});
  return std::make_shared<const SharedPlan>(std::move(plan), 4);
}

std::shared_ptr<const RecordedPlan> use_of(const std::shared_ptr<const SharedPlan>& plan,
                                           std::int64_t bytes) {
  return std::make_shared<const RecordedPlan>(RecordedPlan{plan, 0, {{1, bytes}}});
}

matcher::Fingerprint key(std::uint64_t number) {
  return {number, 1};
}

}  // namespace

TEST_CASE("a plan that requests share counts once, and until the last of them has gone") {
  const auto large = plan_of(1000);
  const auto small = plan_of(10);
  PlanCache cache(large->bytes() + 20 * use_of(large, 0)->bytes() + small->bytes());
  for (std::uint64_t i = 0; i < 10; ++i) cache.add(key(i), use_of(large, static_cast<std::int64_t>(i)));
  cache.add(key(100), use_of(small, 0));
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto found = cache.find(key(i));
    REQUIRE(found != nullptr);
    CHECK(found->shared == large);
    CHECK(found->shifts[0].bytes == static_cast<std::int64_t>(i));
  }
  cache.add(key(200), use_of(plan_of(1000), 0));  // makes all others go, and last the large plan
  CHECK(cache.find(key(200)) != nullptr);
  CHECK(cache.find(key(100)) == nullptr);
  for (std::uint64_t i = 0; i < 10; ++i) CHECK(cache.find(key(i)) == nullptr);
  cache.add(key(201), use_of(small, 0));
  CHECK(cache.find(key(200)) != nullptr);
}

TEST_CASE("a plan that is larger than the cache is not kept") {
  const auto plan = plan_of(100);
  PlanCache cache(plan->bytes());
  cache.add(key(1), use_of(plan, 0));
  CHECK(cache.find(key(1)) == nullptr);
}

TEST_CASE("sources are joined where they touch, and by writer where they are very many") {
  CHECK(plan_of(3)->sources == std::vector<replay::PlanSource>{{1, 0, 4}, {1, 16, 20}, {1, 32, 36}});
  CHECK(plan_of(3)->source_bytes == 12);
  CHECK(plan_of(1000)->sources == std::vector<replay::PlanSource>{{1, 0, 16 * 999 + 4}});
}
