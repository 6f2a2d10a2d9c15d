#include "remote_fetcher.hpp"

#include <doctest/doctest.h>

#include "reader_history.hpp"
#include "support/exchange_ranks.hpp"

using namespace sluice;
using namespace sluice::test;
using formats::Hyperslab;
using runtime::FetchSpecPointer;
using runtime::InboundPart;
using runtime::InboundStage;
using runtime::ReaderHistory;

namespace {

/// Writers of a variable of `rows` x `columns`. Each is on its own node, and has the same number of rows.
SpreadStep rows_of_writers(Ranks& ranks, std::uint32_t writers, std::int64_t rows, std::int64_t columns) {
  std::vector<matcher::MatcherPlace> places;
  for (std::uint32_t i = 0; i < writers; ++i) places.push_back({i, 0});
  SpreadStep step(header_of_shapes({{rows, columns}}, 0), places, ranks.memory());
  const std::int64_t each = rows / writers;
  for (std::uint32_t i = 0; i < writers; ++i) step.put(i, 0, {{i * each, 0}, {each, columns}, {}});
  step.publish();
  return step;
}

}  // namespace

TEST_SUITE("node exchange") {
  TEST_CASE("every byte that is read lands once on a node, however many read it and at the same time") {
    for (const bool is_slow : {false, true}) {
      Ranks ranks(3, 1, {.least_elements = 1});
      ranks.is_slow = is_slow;
      SpreadStep step = rows_of_writers(ranks, 2, 128, 600);
      ranks.tell(step);
      const std::vector<Hyperslab> reads{
          {{0, 0}, {128, 600}, {}}, {{32, 0}, {64, 600}, {}}, {{60, 0}, {10, 600}, {}}};
      std::deque<Answer> answers(2 * reads.size());
      for (std::size_t i = 0; i < answers.size(); ++i) {
        ranks.get(2, 0, {reads[i % reads.size()]}, answers[i]);
        if (i == reads.size()) ranks.settle();
      }
      ranks.settle();
      for (std::size_t i = 0; i < answers.size(); ++i) {
        REQUIRE(answers[i].outcome.text == "");
        CHECK(ranks.run(answers[i]) == step.expected(0, {reads[i % reads.size()]}));
      }
      CHECK(ranks.landed_bytes() == 128 * 600 * 4);
      // The nodes that wrote need only the other half.
      Answer answer;
      ranks.get(0, 0, {reads[0]}, answer);
      ranks.settle();
      CHECK(ranks.run(answer) == step.expected(0, {reads[0]}));
      CHECK(ranks.landed_bytes() == (128 + 64) * 600 * 4);
    }
  }

  TEST_CASE("of copies that leave gaps no byte too many is moved, and equal ones land once") {
    Ranks ranks(2, 1, {});
    SpreadStep step = rows_of_writers(ranks, 2, 200, 500);
    ranks.tell(step);
    const Hyperslab columns{{0, 100}, {200, 7}, {1, 10}};
    for (int again = 0; again < 2; ++again) {
      Answer answer;
      ranks.get(1, 0, {columns}, answer);
      ranks.settle();
      REQUIRE(answer.outcome.text == "");
      CHECK(ranks.run(answer) == step.expected(0, {columns}));
      CHECK(ranks.landed_bytes() == 100 * 7 * 4);
    }
    CHECK(ranks.leased_bytes <= 2U << 20);
  }

  TEST_CASE("data of many packets and of several segments arrives whole") {
    Ranks ranks(2, 1, {});
    SpreadStep step = rows_of_writers(ranks, 2, 64, 600000);
    ranks.tell(step);
    for (const Hyperslab& read :
         {Hyperslab{{0, 0}, {32, 600000}, {}}, Hyperslab{{0, 1}, {32, 200000}, {1, 3}}}) {
      Answer answer;
      ranks.get(1, 0, {read}, answer);
      ranks.settle();
      REQUIRE(answer.outcome.text == "");
      CHECK(ranks.run(answer) == step.expected(0, {read}));
    }
  }

  TEST_CASE("data that an earlier step needed is fetched ahead, and gets find it") {
    for (const bool is_slow : {false, true}) {
      Ranks ranks(2, 1, {});
      SpreadStep step = rows_of_writers(ranks, 2, 64, 600);
      ranks.tell(step);
      const std::vector<Hyperslab> reads{{{0, 0}, {40, 600}, {}}, {{0, 5}, {64, 3}, {1, 7}}};
      std::vector<FetchSpecPointer> wanted;
      for (const Hyperslab& read : reads) {
        Answer answer;
        ranks.get(1, 0, {read}, answer);
        ranks.settle();
        for (const InboundPart& part : answer.landed) wanted.push_back(part.wanted);
      }
      const std::uint64_t needed = ranks.landed_bytes();
      ranks.forget(1);  // as if the next step were the same
      ranks.is_slow = is_slow;
      ranks.moving(1).fetch_ahead(std::make_shared<matcher::StepView>(step.view()), wanted);
      bool is_here = false;
      ranks.moving(1).when_ahead(1, [&] { is_here = true; });
      CHECK_FALSE(is_here);
      ranks.settle();
      CHECK(is_here);
      CHECK(ranks.landed_bytes() == 2 * needed);
      CHECK(ranks.moving(1).landed(1, wanted).size() == wanted.size());
      for (const Hyperslab& read : reads) {
        Answer answer;
        ranks.get(1, 0, {read}, answer);
        ranks.settle();
        CHECK(ranks.run(answer) == step.expected(0, {read}));
      }
      CHECK(ranks.landed_bytes() == 2 * needed);
    }
  }

  TEST_CASE("a step can be opened although data could not be fetched ahead") {
    Ranks ranks(2, 1, {});
    SpreadStep step = rows_of_writers(ranks, 2, 64, 600);
    ranks.tell(step);
    Answer answer;
    ranks.get(1, 0, {{{0, 0}, {40, 600}, {}}}, answer);
    ranks.settle();
    const FetchSpecPointer good = answer.landed.at(0).wanted;
    ranks.forget(1);
    auto beyond = std::make_shared<runtime::FetchSpec>(*good);  // data that the log does not have
    beyond->copies.copies[0].log_offset += std::uint64_t{1} << 30;
    auto nobody = std::make_shared<runtime::FetchSpec>(*good);  // a log that the step does not have
    nobody->copies.copies[0].writer = 17;
    for (const FetchSpecPointer& bad : std::vector<FetchSpecPointer>{beyond, nobody}) {
      ranks.moving(1).fetch_ahead(std::make_shared<matcher::StepView>(step.view()), {bad});
      bool is_over = false;
      ranks.moving(1).when_ahead(1, [&] { is_over = true; });
      ranks.settle();
      CHECK(is_over);
      CHECK(ranks.moving(1).landed(1, std::vector<FetchSpecPointer>{bad}).empty());
    }
    ranks.lease_outcome = {NC_ENO_SPACE, "there is none"};
    ranks.moving(1).fetch_ahead(std::make_shared<matcher::StepView>(step.view()), {good});
    bool is_over = false;
    ranks.moving(1).when_ahead(1, [&] { is_over = true; });
    ranks.settle();
    CHECK(is_over);
  }

  TEST_CASE("a step that ends during a fetch ahead releases the opens that wait for it") {
    Ranks ranks(2, 1, {});
    SpreadStep step = rows_of_writers(ranks, 2, 64, 600);
    ranks.tell(step);
    Answer answer;
    ranks.get(1, 0, {{{0, 0}, {40, 600}, {}}}, answer);
    ranks.settle();
    ranks.forget(1);
    ranks.moving(1).fetch_ahead(std::make_shared<matcher::StepView>(step.view()),
                                {answer.landed.at(0).wanted});
    int calls = 0;
    ranks.moving(1).when_ahead(1, [&] { ++calls; });
    ranks.forget(1);
    ranks.settle();
    CHECK(calls == 1);
  }

  TEST_CASE("where no memory can be had, the gets that need it fail and a later one tries again") {
    for (const bool is_slow : {false, true}) {
      Ranks ranks(2, 1, {});
      ranks.is_slow = is_slow;
      SpreadStep step = rows_of_writers(ranks, 2, 64, 600);
      ranks.tell(step);
      ranks.lease_outcome = {NC_ENO_SPACE, "there is none"};
      std::deque<Answer> answers(3);
      for (int i = 0; i < 2; ++i)
        ranks.get(1, 0, {{{0, 0}, {64, 600}, {}}}, answers[static_cast<std::size_t>(i)]);
      ranks.settle();
      for (int i = 0; i < 2; ++i) CHECK(answers[static_cast<std::size_t>(i)].outcome.status == NC_ENO_SPACE);
      ranks.lease_outcome = {};
      ranks.get(1, 0, {{{0, 0}, {64, 600}, {}}}, answers[2]);
      ranks.settle();
      REQUIRE(answers[2].outcome.text == "");
      CHECK(ranks.run(answers[2]) == step.expected(0, {{{0, 0}, {64, 600}, {}}}));
    }
  }

  TEST_CASE(
      "a step that goes while its data is under way ends the gets on it, and nothing is written any more") {
    Ranks ranks(2, 1, {});
    SpreadStep step = rows_of_writers(ranks, 2, 64, 600);
    ranks.tell(step);
    ranks.is_slow = true;
    for (int turns = 0; turns < 3; ++turns) {
      Answer answer;
      ranks.get(1, 0, {{{0, 0}, {64, 600}, {}}}, answer);
      ranks.forget(1);
      ranks.settle();
      CHECK(answer.has_come);
    }
  }

  TEST_CASE(
      "plans that read landed copies hold for the next step, where the writers are elsewhere in the list") {
    std::vector<std::uint32_t> logs;
    std::vector<std::uint64_t> offsets;
    for (const std::uint32_t first : {0U, 3U}) {
      InboundStage inbound(first);
      replay::Plan plan;
      plan.elements = 2;
      plan.copies = {{.writer = first + 1, .log_offset = 64, .destination = 0},
                     {.writer = first + 2, .log_offset = 8, .destination = 1}};
      InboundStage::PartIds needed;
      inbound.add(
          plan, 4,
          [](std::uint32_t) {
            return std::optional(matcher::MatcherPlace{7, 0});
          },
          needed);
      CHECK(needed.size() == 1);
      std::vector<matcher::LogRange> ranges;
      for (const auto& part : inbound.parts(needed)) ranges.push_back(part.ranges.at(0));
      CHECK(ranges.at(0).length_bytes == 8);
      CHECK(plan.copies.at(0).writer == ranges.at(0).writer);
      CHECK(plan.copies.at(0).log_offset == ranges.at(0).log_offset);
      logs.push_back(ranges.at(0).writer - first);
      offsets.push_back(ranges.at(0).log_offset);
    }
    CHECK(logs[0] == logs[1]);
    CHECK(offsets[0] == offsets[1]);
  }

  TEST_CASE("data that processes have read is fetched ahead, until one reads something else or ends") {
    const auto part = [](std::uint64_t number) {
      auto wanted = std::make_shared<runtime::FetchSpec>();
      wanted->fingerprint = {number, number};
      InboundPart landed;
      landed.wanted = wanted;
      return std::vector<InboundPart>{landed};
    };
    const auto pattern = [](std::uint64_t number) {
      matcher::StepPattern known;
      known.whole = {number, 1};
      return known;
    };
    const matcher::ProcessId first{1};
    const matcher::ProcessId second{2};
    ReaderHistory patterns;
    CHECK(patterns.wanted({0, pattern(1)}).empty());
    patterns.note_inbound(first, {0, pattern(1)}, part(1), false);
    patterns.note_inbound(first, {0, pattern(1)}, part(1), false);
    patterns.note_inbound(second, {0, pattern(1)}, part(1), false);
    patterns.note_inbound(second, {0, pattern(1)}, part(2), false);
    CHECK(patterns.wanted({0, pattern(1)}).size() == 2);
    CHECK(patterns.inbound(first, {0, pattern(1)}).size() == 1);
    CHECK(patterns.wanted({1, pattern(1)}).empty());
    CHECK(patterns.wanted({0, pattern(2)}).empty());
    patterns.note_inbound(first, {0, pattern(1)}, part(2), true);  // remembered for the other process
    CHECK(patterns.wanted({0, pattern(1)}).size() == 2);
    patterns.note_inbound(first, {0, pattern(1)}, part(3), true);
    CHECK(patterns.wanted({0, pattern(1)}).empty());  // to be learned again
    patterns.note_inbound(first, {0, pattern(1)}, part(3), false);
    patterns.note_inbound(second, {0, pattern(1)}, part(2), false);
    patterns.forget(second);
    CHECK(patterns.wanted({0, pattern(1)}).size() == 1);
    patterns.forget(first);
    CHECK(patterns.wanted({0, pattern(1)}).empty());
    matcher::StepPattern none;
    patterns.note_inbound(first, {0, none}, part(1), false);
    CHECK(patterns.wanted({0, none}).empty());
  }

  TEST_CASE("sometimes a step is not fetched ahead, so that unneeded data is forgotten") {
    ReaderHistory patterns;
    matcher::StepPattern pattern;
    pattern.whole = {1, 1};
    InboundPart landed;
    landed.wanted = std::make_shared<runtime::FetchSpec>();
    patterns.note_inbound(matcher::ProcessId{1}, {0, pattern}, std::vector<InboundPart>{landed}, false);
    std::uint32_t steps = 0;
    while (!patterns.wanted({0, pattern}).empty() && steps < 1000) ++steps;
    CHECK(steps == ReaderHistory::most_steps);
  }

  TEST_CASE("the logs that a process reads are known in the next step of the pattern") {
    ReaderHistory history;
    matcher::StepPattern pattern;
    pattern.whole = {1, 1};
    pattern.first_writer = 4;
    const matcher::ProcessId reader{1};
    const std::vector<matcher::LogRange> ranges{{5, 0, 8, 1, 0}, {7, 0, 8, 1, 8}};
    history.note_logs(reader, {0, pattern}, ranges);
    pattern.first_writer = 10;
    CHECK(history.logs(reader, {0, pattern}) == std::vector<std::uint32_t>{11, 13});
    CHECK(history.logs(reader, {1, pattern}).empty());
    CHECK(history.logs(matcher::ProcessId{2}, {0, pattern}).empty());
    CHECK(history.wanted({0, pattern}).empty());
    matcher::StepPattern other = pattern;
    other.whole = {2, 2};
    CHECK(history.logs(reader, {0, other}).empty());
    history.forget(reader);
    CHECK(history.logs(reader, {0, pattern}).empty());
    other.whole = {};
    history.note_logs(reader, {0, other}, ranges);
    CHECK(history.logs(reader, {0, other}).empty());
  }
}
