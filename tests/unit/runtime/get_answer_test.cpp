#include "get_answer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/read_lists.hpp"
#include "support/exchange_world.hpp"
#include "support/lists_of_boxes.hpp"
#include "support/seed.hpp"

using namespace sluice;
using formats::Hyperslab;
using runtime::GetWriter;
using runtime::Plans;
using test::SpreadStep;
using Boxes = std::vector<Hyperslab>;

namespace {

constexpr std::int64_t rows = 6;
constexpr std::int64_t columns = 10;

/// A step of several variables of the same shape, in one matcher's memory.
class World {
 public:
  World(int variables, std::uint32_t writers)
      : step_(test::header_of_shapes(std::vector<std::vector<std::int64_t>>(
                                         static_cast<std::size_t>(variables), {rows, columns}),
                                     0),
              std::vector<matcher::MatcherPlace>(writers),
              [this](matcher::MatcherPlace) -> test::RankMemory& { return memory_; }) {}

  SpreadStep& step() { return step_; }

  /// Gets the same list of every variable, and compares the values. Returns the number of plans.
  std::size_t check(const Boxes& reads) {
    step_.publish();
    matcher::StepIndex index(memory_);
    index.set_header(step_.view().header);
    index.update(step_.view().logs, true);
    std::vector<formats::HyperslabView> views;
    for (const Hyperslab& read : reads) views.push_back(read.view());
    GetWriter get(1);
    const int variables = step_.header().variable_count();
    for (int varid = 0; varid < variables; ++varid) get.add(varid, views);
    runtime::AnnouncedRanges told;
    const runtime::Get request = get.take();
    CHECK(request.lists.size() == 1);
    const Plans answer = answer_get(index, request, told);
    REQUIRE(answer.uses.size() == static_cast<std::size_t>(variables));
    const auto plans = decoded(answer);
    for (int varid = 0; varid < variables; ++varid) {
      const runtime::PlanUse& use = answer.uses[static_cast<std::size_t>(varid)];
      CHECK(values_of(plans.at(use.plan), use, answer) == step_.expected(varid, reads));
    }
    return plans.size();
  }

 private:
  /// The logs as a process sees them that has received only these ranges.
  class ToldLogs final : public replay::LogReader {
   public:
    ToldLogs(SpreadStep& step, const Plans& answer) : step_(step), answer_(answer) {}
    std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
      const auto holds = [&](const runtime::LogRange& range) {
        return range.writer == writer && log_offset >= range.log_offset &&
               log_offset - range.log_offset < range.length_bytes;
      };
      if (std::ranges::none_of(answer_.ranges, holds)) return {};
      return step_.at(writer, log_offset);
    }

   private:
    SpreadStep& step_;
    const Plans& answer_;
  };

  static std::vector<replay::Plan> decoded(const Plans& answer) {
    std::vector<replay::Plan> plans;
    for (std::size_t position = 0; position < answer.plans.size();)
      plans.push_back(replay::decode_plan(answer.plans, position));
    return plans;
  }

  std::vector<std::int32_t> values_of(const replay::Plan& plan, const runtime::PlanUse& use,
                                      const Plans& answer) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(plan.elements));
    ToldLogs logs(step_, answer);
    replay::MovedLogs moved(logs, 0, use.shifts);
    const auto type = formats::Type::int32;
    CHECK(replay::execute(plan, moved, {type, type, false, &SpreadStep::fill}, values.data()) == NC_NOERR);
    return values;
  }

  test::RankMemory memory_;
  SpreadStep step_;
};

constexpr test::Grid grid{rows, columns};

}  // namespace

TEST_CASE("a range is announced again when another one has taken its number") {
  // As when a step is published whose ranges were read from its tables before.
  const std::vector<runtime::LogRange> growing{{0, 0, 64, 7, 0}, {0, 64, 64, 8, 0}};
  const std::vector<runtime::LogRange> published{{0, 0, 64, 7, 0}, {0, 64, 64, 9, 128}};
  const std::vector<replay::PlanSource> sources{{0, 0, 128}};
  runtime::AnnouncedRanges told;
  std::vector<runtime::LogRange> news;
  told.tell([&](std::uint32_t) { return std::span(growing); }, sources, {}, news);
  CHECK(news == growing);
  news.clear();
  told.tell([&](std::uint32_t) { return std::span(published); }, sources, {}, news);
  CHECK(news == std::vector{published[1]});
}

TEST_CASE("variables that were put by the same lists need one plan") {
  World world(5, 2);
  for (int varid = 0; varid < 5; ++varid) {
    world.step().put_list(0, varid, grid.dotted(0, 2, 0));
    world.step().put_list(1, varid, grid.dotted(0, 2, 1));
    world.step().put_list(1, varid, grid.dotted(3, 2, 0));
  }
  CHECK(world.check(grid.whole_rows()) == 1);
}

TEST_CASE("a variable of which anything differs is matched by itself") {
  struct Difference {
    std::string name;
    std::function<void(SpreadStep&, int varid)> put;
  };
  const Boxes list = grid.dotted(0, 2, 0);
  const Boxes other = grid.dotted(0, 2, 1);
  const Boxes third = grid.dotted(3, 2, 0);
  const auto changed = [&](auto change) {
    Boxes boxes = list;
    change(boxes);
    return [boxes, other, third](SpreadStep& step, int varid) {
      step.put_list(0, varid, boxes);
      step.put_list(1, varid, other);
      step.put_list(1, varid, third);
    };
  };
  const std::vector<Difference> differences{
      {"the order of the boxes", changed([](Boxes& boxes) { std::swap(boxes[1], boxes[2]); })},
      {"a start", changed([](Boxes& boxes) { boxes[3].start[0] = 5; })},
      {"a start that overlaps", changed([](Boxes& boxes) {
         boxes[3].start = {3, 0};
       })},
      {"a count", changed([](Boxes& boxes) { boxes[4].count[0] = 2; })},
      {"a stride", changed([](Boxes& boxes) {
         boxes[0] = {{0, 0}, {2, 1}, {4, 1}};
       })},
      {"a box is missing", changed([](Boxes& boxes) { boxes.pop_back(); })},
      {"a box more", changed([](Boxes& boxes) {
         boxes.push_back({{5, 5}, {1, 2}, {}});
       })},
      {"a list is missing",
       [&](SpreadStep& step, int varid) {
         step.put_list(0, varid, list);
         step.put_list(1, varid, other);
       }},
      {"a writer is missing", [&](SpreadStep& step, int varid) { step.put_list(0, varid, list); }},
      {"another writer",
       [&](SpreadStep& step, int varid) {
         step.put_list(1, varid, list);
         step.put_list(1, varid, other);
         step.put_list(1, varid, third);
       }},
      {"the order of a writer's lists",
       [&](SpreadStep& step, int varid) {
         step.put_list(0, varid, list);
         step.put_list(1, varid, third);
         step.put_list(1, varid, other);
       }},
      {"other data lies between a writer's lists",
       [&](SpreadStep& step, int varid) {
         step.put_list(0, varid, list);
         step.put_list(1, varid, other);
         step.put(1, 0, {{5, 0}, {1, 3}, {}});
         step.put_list(1, varid, third);
       }},
      {"a request before",
       [&](SpreadStep& step, int varid) {
         step.put(0, varid, {{0, 0}, {3, columns}, {}});
         step.put_list(0, varid, list);
         step.put_list(1, varid, other);
         step.put_list(1, varid, third);
       }},
      {"a request between",
       [&](SpreadStep& step, int varid) {
         step.put_list(0, varid, list);
         step.put_list(1, varid, other);
         step.put(1, varid, {{0, 0}, {3, 3}, {}});
         step.put_list(1, varid, third);
       }},
      {"a fill behind",
       [&](SpreadStep& step, int varid) {
         step.put_list(0, varid, list);
         step.put_list(1, varid, other);
         step.put_list(1, varid, third);
         step.fill_box(0, varid, {{1, 0}, {3, 2}, {}});
       }},
      {"nothing was put", [](SpreadStep&, int) {}},
  };
  for (const Difference& difference : differences) {
    CAPTURE(difference.name);
    World world(3, 2);
    const auto put_as_ever = changed([](Boxes&) {});
    put_as_ever(world.step(), 0);
    difference.put(world.step(), 1);
    put_as_ever(world.step(), 2);
    world.check(grid.whole_rows());
    CHECK(world.check({{{0, 0}, {rows, columns}, {}}}) >= 2);
  }
}

TEST_CASE("the order of two writers makes a difference") {
  World world(2, 2);
  const Boxes list = grid.dotted(0, 2, 0);
  Boxes overlapping = grid.dotted(1, 2, 0);
  world.step().put_list(0, 0, list);
  world.step().put_list(1, 0, overlapping);
  world.step().put_list(1, 1, overlapping);
  world.step().put_list(0, 1, list);
  CHECK(world.check({{{0, 0}, {rows, columns}, {}}}) == 2);
}

TEST_CASE("random lists on random variables read as they were put") {
  std::mt19937_64 engine(test::test_seed(20261121));
  const auto chance = [&](int of) { return std::uniform_int_distribution<int>(0, of - 1)(engine) == 0; };
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(engine);
  };
  const std::vector<Boxes> lists{grid.dotted(0, 2, 0), grid.dotted(0, 2, 1), grid.dotted(1, 2, 0),
                                 grid.dotted(3, 2, 1)};
  std::size_t shared = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    World world(6, 3);
    std::vector<std::size_t> usual;
    for (std::uint32_t writer = 0; writer < 3; ++writer) {
      usual.push_back(static_cast<std::size_t>(below(static_cast<std::int64_t>(lists.size()))));
    }
    for (int varid = 0; varid < 6; ++varid) {
      for (std::uint32_t writer = 0; writer < 3; ++writer) {
        if (chance(12)) continue;
        if (chance(12)) world.step().put(writer, varid, {{below(rows), 0}, {1, 1 + below(columns - 1)}, {}});
        const auto list = chance(12) ? static_cast<std::size_t>(below(4)) : usual[writer];
        world.step().put_list(writer, varid, lists[list]);
        if (chance(20)) world.step().put_list(writer, varid, lists[list]);
      }
    }
    Boxes reads = grid.whole_rows();
    reads.push_back({{below(rows), below(columns)}, {1, 1}, {}});
    shared += world.check(reads) < 6 ? 1 : 0;
  }
  CHECK(shared > 100);
}

TEST_CASE("a get with damaged lists is an error") {
  using runtime::ReadList;
  CHECK_THROWS_AS((void)slabs_of(ReadList{2, 1, false, {0, 1, 2}}), Error);
  CHECK_THROWS_AS((void)slabs_of(ReadList{1, 1, true, {0, 1}}), Error);
  CHECK_THROWS_AS((void)slabs_of(ReadList{3, 0, false, {}}), Error);
  CHECK_THROWS_AS((void)slabs_of(ReadList{~std::uint64_t{0}, 2, false, {0, 1, 2, 3}}), Error);
  CHECK(slabs_of(ReadList{1, 0, false, {}}).size() == 1);
  const runtime::Get get{1, {}, {{0, 0}}};
  CHECK_THROWS_AS((void)list_of(get, get.accesses[0]), Error);
}
