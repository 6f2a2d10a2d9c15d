#include "distributed_matcher.hpp"

#include <doctest/doctest.h>

#include "owned_requests.hpp"
#include "sluice/matcher/request_list.hpp"
#include "support/exchange_ranks.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::test;
using formats::Hyperslab;
using matcher::MatcherPlace;
using runtime::OwnedRequests;

TEST_SUITE("match exchange") {
  TEST_CASE("whatever ranks wrote and read, a get has the values of a dense array") {
    HyperslabGenerator random(test_seed());
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      matcher::Partition partition;
      partition.kind = random.chance(80) ? matcher::PartitionKind::range : matcher::PartitionKind::variable;
      partition.least_elements = random.between(1, 50);
      Ranks ranks(static_cast<std::uint32_t>(random.between(1, 4)),
                  static_cast<std::uint32_t>(random.between(1, 2)), partition);
      ranks.is_slow = random.chance(50);
      SpreadStep step(header_of_shapes(random_shapes(random), random.between(0, 5)),
                      random_writers(ranks, random), ranks.memory());
      ranks.tell(step);
      put_at_random(step, random, random.between(0, 60));
      step.publish();
      for (int i = 0; i < 5; ++i) read_at_random(ranks, step, random);
    }
  }

  TEST_CASE(
      "gets on a step that is being written see what was put before them, and so on when it is published") {
    HyperslabGenerator random(test_seed());
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      Ranks ranks(static_cast<std::uint32_t>(random.between(1, 3)), 1, {});
      ranks.is_slow = random.chance(50);
      SpreadStep step(header_of_shapes(random_shapes(random), random.between(0, 5)),
                      random_writers(ranks, random), ranks.memory());
      ranks.tell(step);
      for (int i = 0; i < 6; ++i) {
        put_at_random(step, random, random.between(0, 15));
        read_at_random(ranks, step, random);
      }
      step.publish();
      read_at_random(ranks, step, random);
    }
  }

  TEST_CASE(
      "requests of a variable that the asker's header does not have yet do no harm while a step grows") {
    matcher::RequestList list;
    matcher::TableEntry entry;
    const Hyperslab whole{{0}, {4}, {}};
    entry.kind = matcher::EntryKind::request;
    entry.box = whole.view();
    for (const int varid : {1, 0}) {
      entry.varid = varid;
      list.add(entry);
    }
    const std::vector<matcher::WriterRequests> writers{{0, list.take(), {}}};
    OwnedRequests growing(header_of_shapes({{4}}, 0));
    growing.add(writers, OwnedRequests::Newer::is_left_out);
    CHECK(growing.are_put(0, std::vector{whole.view()}));
    OwnedRequests published(header_of_shapes({{4}}, 0));
    CHECK_THROWS_WITH_AS(published.add(writers), "the header has no variable 1", Error);
  }

  TEST_CASE("a damaged request table is an error for every get on the step, and for no other") {
    Ranks ranks(3, 1, {.least_elements = 1});
    SpreadStep step(header_of_shapes({{12}}, 0), {{0, 0}, {1, 0}, {2, 0}}, ranks.memory());
    ranks.tell(step);
    for (std::uint32_t writer = 0; writer < 3; ++writer) step.put(writer, 0, {{writer * 4}, {4}, {}});
    step.publish();
    step.damage(1, 6, 0xff);  // the kind of the entry after the segment's entry
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      for (int again = 0; again < 2; ++again) {
        Answer answer;
        ranks.get(rank, 0, {{{0}, {12}, {}}}, answer);
        ranks.settle();
        CHECK(answer.has_come);
        CHECK(answer.outcome.status == NC_EIO);
        CHECK(answer.outcome.text.find("request table") != std::string::npos);
      }
      ranks.forget(rank);
    }
  }

  TEST_CASE("a get that does not fit the step is an error") {
    Ranks ranks(2, 1, {});
    SpreadStep step(header_of_shapes({{12}}, 0), {{1, 0}}, ranks.memory());
    ranks.tell(step);
    step.publish();
    const auto status = [&](int varid, const Hyperslab& read) {
      Answer answer;
      ranks.get(0, varid, {read}, answer);
      ranks.settle();
      CHECK(answer.has_come);
      return answer.outcome.status;
    };
    CHECK(status(0, {{0}, {12}, {}}) == NC_NOERR);
    CHECK(status(1, {{0}, {12}, {}}) == NC_EIO);
    CHECK(status(-1, {{0}, {12}, {}}) == NC_EIO);
    CHECK(status(0, {{0, 0}, {1, 1}, {}}) == NC_EIO);
    CHECK(status(0, {{0}, {1, 1}, {}}) == NC_EIO);
    CHECK(status(0, {{-1}, {1}, {}}) == NC_EIO);
    CHECK(status(0, {{0}, {std::int64_t{1} << 62}, {}}) == NC_EIO);
  }

  TEST_CASE("a step that is gone is an error, also for gets that are under way") {
    Ranks ranks(2, 1, {.least_elements = 1});
    SpreadStep step(header_of_shapes({{12}}, 0), {{1, 0}}, ranks.memory());
    ranks.tell(step);
    step.put(0, 0, {{0}, {12}, {}});
    step.publish();
    Answer answer;
    ranks.get(0, 0, {{{0}, {12}, {}}}, answer);
    ranks.forget(0);
    ranks.settle();
    CHECK(answer.has_come);
    ranks.forget(1);
    CHECK(ranks.matching(1).known_steps() == 0);
  }

  TEST_CASE("an owner is asked once a get, and collects once a step") {
    constexpr std::uint32_t size = 4;
    Ranks ranks(size, 1, {.least_elements = 1});
    ranks.moves_data = false;
    std::vector<MatcherPlace> writers;
    for (std::uint32_t i = 0; i < 8; ++i) writers.push_back({i % size, 0});
    SpreadStep step(header_of_shapes({{64}, {64}}, 0), writers, ranks.memory());
    ranks.tell(step);
    for (std::uint32_t i = 0; i < 8; ++i) {
      step.put(i, 0, {{i * 8}, {8}, {}});
      step.put(i, 1, {{i * 8}, {8}, {}});
    }
    step.publish();
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t before = ranks.packets();
      Answer answer;
      ranks.get(0, i % 2, {{{0}, {64}, {}}}, answer);
      ranks.settle();
      CHECK(answer.outcome.status == NC_NOERR);
      // Both variables have the same owners. In each part they have two writers, of two matchers.
      CHECK(ranks.packets() - before == 2 * size + (i == 0 ? 2 * size * 2 : 0));
    }
  }

  TEST_CASE("damaged packets are errors") {
    Ranks ranks(1, 1, {});
    const std::vector<std::byte> nothing;
    for (const auto kind : {ExchangePacket::collect, ExchangePacket::collected, ExchangePacket::match_parts,
                            ExchangePacket::matched_parts}) {
      CHECK_THROWS_AS(ranks.matching(0).take(0, kind, nothing), Error);
    }
  }
}
