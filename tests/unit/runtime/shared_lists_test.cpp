// Variables that were put by the same lists, in runs of several matchers.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "joined_plans.hpp"
#include "support/exchange_ranks.hpp"
#include "support/lists_of_boxes.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::test;
using formats::Hyperslab;
using matcher::PartitionKind;
using Boxes = std::vector<Hyperslab>;

namespace {

constexpr std::int64_t rows = 8;
constexpr std::int64_t columns = 10;

formats::Header header_of(int variables) {
  return header_of_shapes(
      std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(variables), {rows, columns}), 0);
}

constexpr test::Grid grid{rows, columns};

/// The accesses of one get, which read `lists`.
struct Accesses {
  struct Access {
    int varid = 0;
    std::size_t list = 0;
  };
  std::vector<Boxes> lists;
  std::vector<Access> accesses;

  [[nodiscard]] runtime::Get request() const {
    std::vector<std::vector<formats::HyperslabView>> views(lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i) {
      for (const Hyperslab& slab : lists[i]) views[i].push_back(slab.view());
    }
    runtime::GetWriter writer(1);
    for (const Access& access : accesses) writer.add(access.varid, views[access.list]);
    return writer.take();
  }
};

/// Gets everything in one message, and compares every value. Returns the number of plans.
std::size_t check(Ranks& ranks, SpreadStep& step, const Accesses& get, std::uint32_t rank) {
  Answer answer;
  ranks.get(rank, get.request(), answer);
  ranks.settle();
  REQUIRE(answer.has_come);
  REQUIRE(answer.outcome.text == "");
  REQUIRE(answer.matched.uses.size() == get.accesses.size());
  for (std::size_t i = 0; i < get.accesses.size(); ++i) {
    const Accesses::Access& access = get.accesses[i];
    CHECK(ranks.run(answer, i) == step.expected(access.varid, get.lists[access.list]));
  }
  return answer.matched.plans.size();
}

std::vector<matcher::MatcherPlace> writer_of_each(const Ranks& ranks) {
  std::vector<matcher::MatcherPlace> writers;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) writers.push_back(ranks.place(rank));
  return writers;
}

/// Gets of variables that were all put by the same lists.
struct Sharing {
  std::size_t plans = 0;
  std::uint64_t collected_bytes = 0;
  std::uint64_t asked_bytes = 0;
  std::uint64_t answered_bytes = 0;
};

Sharing sharing_of(int variables, std::uint32_t matchers, const matcher::Partition& partition) {
  Ranks ranks(1, matchers, partition);
  SpreadStep step(header_of(variables), writer_of_each(ranks), ranks.memory());
  ranks.tell(step);
  for (int varid = 0; varid < variables; ++varid) {
    for (std::uint32_t writer = 0; writer < matchers; ++writer)
      step.put_list(writer, varid, grid.dotted(2 * writer, 2, writer % 2));
  }
  step.publish();
  Accesses get{{grid.whole_rows()}, {}};
  for (int varid = 0; varid < variables; ++varid) get.accesses.push_back({varid, 0});
  Sharing sharing;
  sharing.plans = check(ranks, step, get, 0);
  sharing.collected_bytes = ranks.bytes(ExchangePacket::collected);
  sharing.asked_bytes = ranks.bytes(ExchangePacket::match_parts);
  sharing.answered_bytes = ranks.bytes(ExchangePacket::matched_parts);
  return sharing;
}

}  // namespace

TEST_SUITE("shared lists") {
  TEST_CASE("lists are collected, asked for and matched once for all variables that share them") {
    for (const std::uint32_t matchers : {2U, 3U}) {
      CAPTURE(matchers);
      const Sharing one = sharing_of(1, matchers, {.least_elements = 1});
      const Sharing many = sharing_of(21, matchers, {.least_elements = 1});
      CHECK(one.plans == 1);
      CHECK(many.plans == 1);
      // Another request or access costs a few words for each matcher; a list costs several hundred bytes.
      CHECK(many.collected_bytes - one.collected_bytes <= 20 * matchers * matchers * 48);
      CHECK(many.asked_bytes - one.asked_bytes <= 20 * matchers * 16);
      CHECK(many.answered_bytes - one.answered_bytes <= 20 * matchers * (16 + 16 * matchers));
    }
  }

  TEST_CASE("variables of different owners share what they can: each owner has every list once") {
    for (const std::uint32_t matchers : {2U, 3U}) {
      CAPTURE(matchers);
      const int each = 7;
      const matcher::Partition partition{.kind = PartitionKind::variable};
      const Sharing one = sharing_of(static_cast<int>(matchers), matchers, partition);
      const Sharing many = sharing_of(static_cast<int>(matchers) * each, matchers, partition);
      CHECK(one.plans == matchers);
      CHECK(many.plans == matchers);
      const std::uint64_t more = matchers * (each - 1);
      CHECK(many.collected_bytes - one.collected_bytes <= more * matchers * 48);
      CHECK(many.asked_bytes - one.asked_bytes <= more * 16);
      CHECK(many.answered_bytes - one.answered_bytes <= more * (16 + 16 * matchers));
    }
  }

  TEST_CASE("a variable that differs in one owner's part only shares nothing with others, and others do") {
    Ranks ranks(1, 2, {.least_elements = 1});
    SpreadStep step(header_of(4), writer_of_each(ranks), ranks.memory());
    ranks.tell(step);
    for (const int varid : {0, 1, 2, 3}) {
      step.put_list(0, varid, grid.dotted(0, rows, 0));
      if (varid == 0) step.put(1, varid, {{rows - 1, 0}, {1, columns}, {}});
      step.put_list(1, varid, grid.dotted(0, rows, 1));
    }
    step.publish();
    Accesses get{{grid.whole_rows()}, {{0, 0}, {1, 0}, {2, 0}, {3, 0}}};
    CHECK(check(ranks, step, get, 0) == 2);
  }

  TEST_CASE("log offsets that lie at different distances in two parts need a plan of their own") {
    Ranks ranks(1, 2, {.least_elements = 1});
    SpreadStep step(header_of(3), {ranks.place(0)}, ranks.memory());
    ranks.tell(step);
    const Boxes upper = grid.dotted(0, rows / 2, 0);
    const Boxes lower = grid.dotted(rows / 2, rows / 2, 0);
    for (const int varid : {0, 1, 2}) {
      step.put_list(0, varid, varid == 1 ? lower : upper);
      step.put_list(0, varid, varid == 1 ? upper : lower);
    }
    step.publish();
    Accesses get{{grid.whole_rows()}, {{0, 0}, {1, 0}, {2, 0}}};
    CHECK(check(ranks, step, get, 1) == 2);
  }

  TEST_CASE("whatever lists were put and read, a get has the values of a dense array") {
    HyperslabGenerator random(test_seed());
    const std::vector<Boxes> lists{grid.dotted(0, rows, 0),
                                   grid.dotted(0, 4, 1),
                                   grid.dotted(3, 5, 1),
                                   grid.dotted(6, 2, 0),
                                   {{{0, 0}, {2, 3}, {3, 2}}, {{7, 1}, {1, 9}, {}}, {{1, 1}, {0, 4}, {}}}};
    const auto below = [&](std::size_t end) {
      return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(end) - 1));
    };
    constexpr int variables = 6;
    for (int round = 0; round < 200; ++round) {
      CAPTURE(round);
      const matcher::Partition partition{random.chance(70) ? PartitionKind::range : PartitionKind::variable,
                                         1, random.between(1, 60)};
      Ranks ranks(static_cast<std::uint32_t>(random.between(1, 2)),
                  static_cast<std::uint32_t>(random.between(1, 3)), partition);
      ranks.is_slow = random.chance(50);
      SpreadStep step(header_of(variables), random_writers(ranks, random), ranks.memory());
      ranks.tell(step);
      std::vector<std::size_t> usual;
      for (std::uint32_t writer = 0; writer < step.writers(); ++writer) usual.push_back(below(lists.size()));
      for (int varid = 0; varid < variables; ++varid) {
        for (std::uint32_t writer = 0; writer < step.writers(); ++writer) {
          if (random.chance(10)) continue;
          if (random.chance(10)) step.put(writer, varid, random.hyperslab({rows, columns}));
          step.put_list(writer, varid, lists[random.chance(10) ? below(lists.size()) : usual[writer]]);
          if (random.chance(5)) step.put_list(writer, varid, lists[below(lists.size())]);
        }
      }
      step.publish();
      Accesses get{{grid.whole_rows(), grid.dotted(1, 6, 1), {random.hyperslab({rows, columns})}}, {}};
      for (int varid = 0; varid < variables; ++varid) {
        get.accesses.push_back({varid, random.chance(20) ? below(get.lists.size()) : 0});
        if (random.chance(10)) get.accesses.push_back({varid, below(get.lists.size())});
      }
      for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) check(ranks, step, get, rank);
    }
  }

  TEST_CASE("a part that is read backwards is not moved to where its first bytes would have no offset") {
    // The second part reads two elements, the last one first. Its plan is that of another variable, 12 bytes
    // further back: 12 and 8 would become 0 and -4.
    const auto encoded = [](std::uint64_t log_offset, std::int64_t step_bytes, std::int64_t destination) {
      replay::Plan plan;
      plan.elements = 4;
      plan.copies.push_back({0, 1, false, 0, log_offset, destination});
      plan.dimensions.push_back({2, step_bytes, 1});
      std::vector<std::byte> bytes;
      replay::encode(plan, bytes);
      return bytes;
    };
    runtime::JoinedPlans joined;
    joined.add_access(4, 4);
    joined.add_parts({0, {}, {encoded(0, 4, 0)}, {{0, 0, {{0, 100}}}}});
    joined.add_parts({0, {}, {encoded(12, -4, 2)}, {{0, 0, {{0, 88}}}}});
    const auto result = joined.take();
    REQUIRE(result.uses.size() == 1);
    std::vector<std::int32_t> log(40);
    for (std::size_t i = 0; i < log.size(); ++i) log[i] = static_cast<std::int32_t>(i);
    class Log final : public replay::LogReader {
     public:
      explicit Log(const std::vector<std::int32_t>& values) : values_(values) {}
      std::span<const std::byte> at(std::uint32_t /*writer*/, std::uint64_t log_offset) override {
        return std::as_bytes(std::span(values_)).subspan(log_offset);
      }

     private:
      const std::vector<std::int32_t>& values_;
    } reader(log);
    replay::MovedLogs moved(reader, 0, result.uses[0].shifts);
    std::vector<std::int32_t> values(4);
    const replay::Conversion same{formats::Type::int32, formats::Type::int32};
    CHECK(replay::execute(result.plans[0], moved, same, values.data()) == NC_NOERR);
    CHECK(values == std::vector<std::int32_t>{25, 26, 25, 24});
  }

  TEST_CASE("damaged lists of another matcher are errors") {
    runtime::OwnedRequests requests(header_of(1));
    matcher::RequestList list;
    matcher::TableEntry box;
    const Hyperslab slab{{0, 0}, {1, 1}, {}};
    box.varid = 0;
    box.box = slab.view();
    list.add(box);
    const std::vector<std::byte> sound = list.take();
    matcher::TableEntry request;
    request.kind = matcher::EntryKind::list_request;
    request.varid = 0;
    request.element_bytes = 4;
    request.dimensions = 2;
    const auto add = [&](std::uint64_t number, std::uint64_t first_element, std::vector<std::byte> boxes) {
      request.list = number;
      box.log_offset = first_element;
      if (boxes.empty()) {
        list.add(box);
        boxes = list.take();
      }
      matcher::RequestList entries;
      entries.add(request);
      const std::vector<runtime::WriterRequests> writers{{0, entries.take(), {boxes}}};
      requests.add(writers);
    };
    CHECK_NOTHROW(add(0, 0, sound));
    CHECK_THROWS_AS(add(1, 0, sound), Error);
    CHECK_THROWS_AS(add(0, std::uint64_t{1} << 60, {}), Error);
    CHECK_THROWS_AS(add(0, ~std::uint64_t{0}, {}), Error);
    CHECK_THROWS_AS(add(0, 0, std::vector<std::byte>(8)), Error);   // no box
    CHECK_THROWS_AS(add(0, 0, std::vector<std::byte>(16)), Error);  // shorter than its length
    request.dimensions = 1;
    CHECK_THROWS_AS(add(0, 0, sound), Error);
  }
}
