// Several matchers of a node: data that one of them fetches serves the processes of all.
#include <doctest/doctest.h>

#include <algorithm>

#include "remote_fetcher.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"
#include "support/exchange_ranks.hpp"

using namespace sluice;
using namespace sluice::test;
using formats::Hyperslab;
using runtime::Bring;
using runtime::Brought;
using runtime::FetchItem;
using runtime::FetchSpecPointer;
using runtime::InboundPart;
using runtime::InboundStage;

namespace {

constexpr std::int64_t rows = 64, columns = 600;
constexpr std::uint64_t all_bytes = rows * columns * 4;
const Hyperslab everything{{0, 0}, {rows, columns}, {}};
const std::uint32_t first = 2, second = 3;  // the matchers of the reading node

/// Two nodes of two matchers. The two writers of a variable belong to the matchers of the first node. On the
/// second node, matcher `first` fetches the first writer's data for both, and `second` the second writer's.
struct Couple {
  Ranks ranks{2, 2, {.least_elements = 1}};
  SpreadStep step{header_of_shapes({{rows, columns}}, 0), {{0, 0}, {0, 1}}, ranks.memory()};

  Couple() {
    for (std::uint32_t i = 0; i < 2; ++i) step.put(i, 0, {{i * rows / 2, 0}, {rows / 2, columns}, {}});
    step.publish();
    ranks.tell(step);
  }
  void check(const Answer& answer, const Hyperslab& read) {
    REQUIRE(answer.has_come);
    REQUIRE(answer.outcome.text == "");
    CHECK(ranks.run(answer) == step.expected(0, {read}));
  }
  /// The specs of the gets of a read.
  [[nodiscard]] std::vector<FetchSpecPointer> wanted(std::uint32_t rank, const Hyperslab& read) {
    Answer answer;
    ranks.get(rank, 0, {read}, answer);
    ranks.settle();
    std::vector<FetchSpecPointer> wanted;
    for (const InboundPart& part : answer.landed) wanted.push_back(part.wanted);
    return wanted;
  }
  /// Brings the parts of `first`. For the parts of the other matcher there is no memory.
  void take_memory_of_second() {
    (void)wanted(first, {{0, 0}, {rows / 2, columns}, {}});
    (void)wanted(second, {{0, 0}, {rows / 2, columns}, {}});
    ranks.leases.clear();
    ranks.has_memory = false;
  }
  /// A get at `first` waits for `second`, which waits for memory. Then `happens` is called.
  [[nodiscard]] int status_of_waiting_get(const std::function<void()>& happens) {
    take_memory_of_second();
    Answer answer;
    ranks.get(first, 0, {everything}, answer);
    ranks.settle();
    CHECK_FALSE(answer.has_come);
    happens();
    ranks.give_memory();
    ranks.settle();
    CHECK(answer.has_come);
    return answer.outcome.status;
  }
  void forget() {
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) ranks.forget(rank);
  }
  [[nodiscard]] bool fetch_ahead(std::uint32_t rank, const std::vector<FetchSpecPointer>& wanted) {
    ranks.moving(rank).fetch_ahead(std::make_shared<matcher::StepView>(step.view()), wanted);
    bool is_over = false;
    ranks.moving(rank).when_ahead(1, [&] { is_over = true; });
    ranks.settle();
    return is_over;
  }
};

}  // namespace

TEST_SUITE("matchers of a node") {
  TEST_CASE("data that processes of several matchers read arrives once on their node") {
    // Rows are mirrored; columns leave gaps and are bundled.
    const std::vector<Hyperslab> reads{everything,
                                       {{10, 0}, {30, columns}, {}},
                                       {{25, 0}, {39, columns}, {}},
                                       {{0, 7}, {rows, 50}, {1, 11}}};
    for (const bool is_slow : {false, true}) {
      for (const bool at_once : {false, true}) {
        Couple couple;
        couple.ranks.is_slow = is_slow;
        std::deque<Answer> answers(2 * reads.size());
        for (std::size_t i = 0; i < answers.size(); ++i) {
          couple.ranks.get(i % 2 == 0 ? first : second, 0, {reads[i / 2]}, answers[i]);
          if (!at_once) couple.ranks.settle();
        }
        couple.ranks.settle();
        for (std::size_t i = 0; i < answers.size(); ++i) couple.check(answers[i], reads[i / 2]);
        CHECK(couple.ranks.landed_bytes() == all_bytes + rows * 50 * 4);
        CHECK(couple.ranks.leased_bytes <= 2 * (1U << 20));  // one segment for each matcher
      }
    }
  }

  TEST_CASE("ranges that overlap in part are each cut as they came first, and serve both") {
    const std::vector<Hyperslab> reads{
        {{8, 0}, {8, columns}, {}}, {{4, 0}, {20, columns}, {}}, {{0, 0}, {30, columns}, {}}};
    for (const std::uint32_t rank : {first, second}) {
      Couple couple;
      for (const Hyperslab& read : reads) {
        for (const std::uint32_t reader : {rank, first + second - rank}) {
          Answer answer;
          couple.ranks.get(reader, 0, {read}, answer);
          couple.ranks.settle();
          couple.check(answer, read);
        }
      }
      CHECK(couple.ranks.landed_bytes() == 30 * columns * 4);
    }
  }

  TEST_CASE("data that several matchers of a node fetch ahead arrives once, and their gets find it") {
    const Hyperslab some{{0, 3}, {rows, 40}, {1, 13}};
    for (const bool is_slow : {false, true}) {
      Couple couple;
      std::vector<FetchSpecPointer> wanted = couple.wanted(first, everything);
      for (const FetchSpecPointer& part : couple.wanted(second, some)) wanted.push_back(part);
      const std::uint64_t needed = couple.ranks.landed_bytes();
      CHECK(needed == all_bytes + rows * 40 * 4);
      couple.forget();
      couple.ranks.is_slow = is_slow;
      CHECK(couple.fetch_ahead(first, wanted));
      CHECK(couple.fetch_ahead(second, wanted));
      CHECK(couple.ranks.landed_bytes() == 2 * needed);
      for (const std::uint32_t rank : {first, second}) {
        CHECK(couple.ranks.moving(rank).landed(1, wanted).size() >= wanted.size());
        for (const Hyperslab& read : {everything, some}) {
          Answer answer;
          const std::uint64_t asked = couple.ranks.packets(ExchangePacket::bring);
          couple.ranks.get(rank, 0, {read}, answer);
          couple.ranks.settle();
          couple.check(answer, read);
          CHECK(couple.ranks.packets(ExchangePacket::bring) == asked);
        }
      }
      CHECK(couple.ranks.landed_bytes() == 2 * needed);
    }
  }

  TEST_CASE(
      "copies that were asked for in an earlier step are named, and told again to who does not know them") {
    Couple couple;
    std::vector<Hyperslab> pieces;  // at irregular distances, so that each piece is a separate copy
    for (std::int64_t i = 0; i < 400; ++i)
      pieces.push_back({{i * i % rows, i * i * i % columns}, {1, 1}, {}});
    const auto get = [&](std::uint32_t rank) {
      Answer answer;
      const std::uint64_t before = couple.ranks.bytes_of_exchange();
      couple.ranks.get(rank, 0, pieces, answer);
      couple.ranks.settle();
      REQUIRE(answer.outcome.text == "");
      CHECK(couple.ranks.run(answer) == couple.step.expected(0, pieces));
      return std::pair(answer, couple.ranks.bytes_of_exchange() - before);
    };
    std::vector<FetchSpecPointer> wanted;
    for (const InboundPart& part : get(first).first.landed) wanted.push_back(part.wanted);
    const auto ahead = [&] {
      couple.forget();
      const std::uint64_t before = couple.ranks.bytes_of_exchange();
      CHECK(couple.fetch_ahead(first, wanted));
      CHECK(couple.ranks.moving(first).landed(1, wanted).size() >= wanted.size());
      return couple.ranks.bytes_of_exchange() - before;
    };
    const std::uint64_t named = ahead();
    CHECK(named < 400 * 4 + 600);  // the data, and some small packets
    CHECK(get(first).second < named + 400 * 200);
    // The node fetcher, or the owner of the logs, has forgotten the names.
    for (const std::uint32_t forgets : {second, first, 0U, 1U}) {
      couple.ranks.restart(forgets);
      if (forgets == first) continue;
      CHECK(ahead() > named);
      CHECK(ahead() == named);
      (void)get(first);
    }
  }

  TEST_CASE("a neighbour without memory waits on behalf of all gets that it serves") {
    Couple couple;
    couple.take_memory_of_second();
    std::deque<Answer> answers(4);
    for (std::uint32_t i = 0; i < 4; ++i)
      couple.ranks.get(i < 2 ? first : second, 0, {everything}, answers[i], 10 + i);
    couple.ranks.settle();
    // One lease is under way, for one of the gets; the others have joined it.
    REQUIRE(couple.ranks.leases.size() == 1);
    CHECK(couple.ranks.leases[0].rank == second);
    std::vector<runtime::FetchReader> readers{couple.ranks.leases[0].request.reader};
    for (const Ranks::Joined& joined : couple.ranks.joined) {
      CHECK(joined.rank == second);
      readers.push_back(joined.reader);
    }
    std::ranges::sort(readers, {}, &runtime::FetchReader::connection);
    REQUIRE(readers.size() == 4);
    for (std::uint32_t i = 0; i < 4; ++i) {
      CHECK(readers[i].connection == 10 + i);
      CHECK(readers[i].matcher == (i < 2 ? first : second));
    }
    for (const Answer& answer : answers) CHECK_FALSE(answer.has_come);
    couple.ranks.give_memory();
    couple.ranks.settle();
    for (const Answer& answer : answers) couple.check(answer, everything);
    CHECK(couple.ranks.landed_bytes() == all_bytes);
  }

  TEST_CASE("where a neighbour has no memory, the gets that need it fail, and a later one tries again") {
    for (const bool is_slow : {false, true}) {
      Couple couple;
      couple.ranks.is_slow = is_slow;
      couple.ranks.lease_outcome = {NC_ENO_SPACE, "there is none"};
      std::deque<Answer> answers(3);
      for (std::size_t i = 0; i < 2; ++i) couple.ranks.get(first, 0, {everything}, answers[i]);
      couple.ranks.settle();
      for (std::size_t i = 0; i < 2; ++i) CHECK(answers[i].outcome.status == NC_ENO_SPACE);
      couple.ranks.lease_outcome = {};
      couple.ranks.get(first, 0, {everything}, answers[2]);
      couple.ranks.settle();
      couple.check(answers[2], everything);
      CHECK(couple.ranks.landed_bytes() == all_bytes);
    }
  }

  TEST_CASE("a fetch ahead does not wait behind a neighbour's get that waits for memory") {
    Couple couple;
    const std::vector<FetchSpecPointer> wanted = couple.wanted(first, everything);
    couple.forget();
    couple.ranks.has_memory = false;
    const Hyperslab half{{rows / 2, 0}, {rows / 2, columns}, {}};  // data that `second` brings
    Answer answer;
    couple.ranks.get(second, 0, {half}, answer, 1);
    couple.ranks.settle();
    CHECK_FALSE(answer.has_come);
    CHECK(couple.fetch_ahead(first, wanted));
    couple.ranks.give_memory();
    couple.ranks.settle();
    couple.check(answer, half);
  }

  TEST_CASE("a step that goes while a neighbour fetches for it ends the gets on it") {
    for (const std::uint32_t forgets : {first, second}) {
      for (const bool has_memory : {true, false}) {
        Couple couple;
        if (!has_memory) couple.take_memory_of_second();
        couple.ranks.is_slow = has_memory;
        Answer answer;
        couple.ranks.get(first, 0, {everything}, answer);
        if (!has_memory) couple.ranks.settle();
        couple.ranks.forget(forgets);
        couple.ranks.forget(first + second - forgets);
        couple.ranks.give_memory();
        couple.ranks.settle();
        REQUIRE(answer.has_come);
        if (!has_memory) CHECK(answer.outcome.status == NC_EIO);
        // A later get must find nothing.
        couple.forget();
        Answer later;
        couple.ranks.get(first, 0, {everything}, later);
        couple.ranks.settle();
        couple.check(later, everything);
      }
    }
  }

  TEST_CASE("a neighbour that is gone from the step says so, and the get fails") {
    Couple couple;
    CHECK(couple.status_of_waiting_get([&] { couple.ranks.forget(second); }) == NC_EIO);
  }

  TEST_CASE("missing log data fails only the get that requested it from a neighbour") {
    Couple couple;
    const std::vector<FetchSpecPointer> wanted = couple.wanted(first, everything);
    couple.forget();
    std::vector<FetchSpecPointer> beyond;
    for (const FetchSpecPointer& part : wanted) {
      auto bad = std::make_shared<runtime::FetchSpec>(*part);
      bad->copies.dimensions[0].count += 4096;
      bad->bytes += 4096;
      beyond.push_back(bad);
    }
    CHECK(couple.fetch_ahead(first, beyond));
    CHECK(couple.ranks.moving(first).landed(1, beyond).empty());
    Answer answer;
    couple.ranks.get(first, 0, {everything}, answer);
    couple.ranks.settle();
    couple.check(answer, everything);
  }

  TEST_CASE("a request between matchers that makes no sense is refused") {
    Couple couple;
    (void)couple.wanted(first, everything);
    const std::uint64_t landed = couple.ranks.landed_bytes();
    replay::Plan range;
    range.copies.push_back({.dimensions = 1});
    range.dimensions.push_back({64, 1, 0});
    const auto encoded = [](const replay::Plan& plan) {
      std::vector<std::byte> bytes;
      replay::encode(plan, bytes);
      return bytes;
    };
    replay::Plan endless = range;
    endless.copies[0].log_offset = ~std::uint64_t{0} - 8;
    replay::Plan nowhere = range;
    nowhere.copies[0].writer = 99;
    replay::Plan apart = range;
    apart.dimensions[0].source_step_bytes = 2;
    std::vector<FetchItem> parts{{true, 1, {}, encoded({})},    {true, 1, {}, encoded(endless)},
                                 {true, 4, {}, encoded(range)}, {false, 0, {}, encoded(range)},
                                 {true, 1, {}, encoded(apart)}, {true, 1, {}, encoded(nowhere)},
                                 {true, 1, {}, {std::byte{7}}}, {true, 1, {7, 7}, {}}};
    for (const FetchItem& part : parts) {
      const Bring request{77, 1, 0, false, {part}};
      couple.ranks.moving(first).take(second, ExchangePacket::bring, runtime::encode(request));
      couple.ranks.settle();
    }
    // `first` brings this part.
    const Bring request{77, 1, 0, false, {{true, 1, {}, encoded(range)}}};
    couple.ranks.moving(second).take(first, ExchangePacket::bring, runtime::encode(request));
    couple.ranks.settle();
    CHECK(couple.ranks.landed_bytes() == landed);
  }

  TEST_CASE("a neighbour that tells of less than it was asked for fails the get") {
    for (const bool has_part : {false, true}) {
      Couple couple;
      Brought little{1, false, {}, {}};
      if (has_part) little.parts.push_back({{{0, 0, 16, 1, 0}}});
      const auto answer = [&] {
        couple.ranks.moving(first).take(second, ExchangePacket::brought, runtime::encode(little));
      };
      CHECK(couple.status_of_waiting_get(answer) == NC_EIO);
    }
  }

  TEST_CASE("a large log is divided among the matchers, and both find the same one for each part") {
    InboundStage one(0, 2);
    InboundStage other(0, 2);
    const auto range = [](std::uint64_t begin, std::uint64_t bytes) {
      replay::Plan plan;
      plan.elements = static_cast<std::int64_t>(bytes);
      plan.copies.push_back({.dimensions = 1, .log_offset = begin});
      plan.dimensions.push_back({plan.elements, 1, 1});
      return plan;
    };
    const InboundStage::SourceOf source = [](std::uint32_t) {
      return std::optional(matcher::MatcherPlace{1, 0});
    };
    constexpr std::uint64_t chunk = InboundStage::most_part_bytes;
    InboundStage::PartIds needed;
    InboundStage::PartIds of_other;
    replay::Plan whole = range(0, 3 * chunk);
    replay::Plan middle = range(chunk / 2, 2 * chunk);
    one.add(whole, 1, source, needed);
    other.add(middle, 1, source, of_other);
    const auto parts = one.parts(needed);
    const auto others = other.parts(of_other);
    REQUIRE(parts.size() == 3);
    REQUIRE(others.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(parts[i].node_fetcher == others[i].node_fetcher);
    CHECK(parts[0].node_fetcher != parts[1].node_fetcher);
  }
}
