#include "match_exchange.hpp"

#include <doctest/doctest.h>

#include <deque>

#include "sluice/runtime/peer_link.hpp"
#include "support/exchange_world.hpp"

using namespace sluice;
using namespace sluice::runtime;
using formats::Hyperslab;
using matcher::MatcherPlace;
using test::RankMemory;
using test::SpreadStep;

namespace {

struct Answer {
  bool has_come = false;
  Outcome outcome;
  MatchedGet matched;
};

/// Several matcher ranks in one process, and what the registry would tell them.
class Ranks {
 public:
  Ranks(std::uint32_t nodes, std::uint32_t per_node, const matcher::Partition& partition)
      : per_node_(per_node), links_(links_within_process(nodes * per_node)), memories_(nodes * per_node) {
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      MatchExchange::Environment environment;
      environment.rank = rank;
      environment.matchers_per_node = per_node;
      environment.partition = partition;
      environment.partition.owners = size();
      environment.memory = &memories_[rank];
      environment.send = [this, rank](std::uint32_t to, std::vector<std::byte> packet) {
        links_[rank]->send(to, PacketKind::exchange, std::move(packet));
      };
      environment.view = [this](std::uint64_t, ViewReceiver receiver) {
        if (is_slow) {
          held_views_.push_back(std::move(receiver));
        } else {
          give_view(receiver);
        }
      };
      exchanges_.push_back(std::make_unique<MatchExchange>(std::move(environment)));
      links_[rank]->on_packet(PacketKind::exchange, [this, rank](std::uint32_t from, auto bytes) {
        exchanges_[rank]->take(from, static_cast<ExchangePacket>(bytes.front()), bytes.subspan(1));
      });
    }
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(links_.size()); }
  [[nodiscard]] MatcherPlace place(std::uint32_t rank) const { return {rank / per_node_, rank % per_node_}; }
  [[nodiscard]] std::function<RankMemory&(MatcherPlace)> memory() {
    return
        [this](MatcherPlace place) -> RankMemory& { return memories_[place.node * per_node_ + place.index]; };
  }
  void tell(const SpreadStep& step) { step_ = &step; }

  /// Starts a get of one access; settle() brings the answer.
  void get(std::uint32_t rank, int varid, const std::vector<Hyperslab>& reads, Answer& answer) {
    Get request{1, {{varid, {}}}};
    for (const Hyperslab& read : reads)
      request.accesses[0].slabs.push_back({read.start, read.count, read.stride});
    exchanges_[rank]->match(std::move(request), [&answer](const Outcome& outcome, MatchedGet matched) {
      CHECK_FALSE(answer.has_come);
      answer = {true, outcome, std::move(matched)};
    });
  }
  void settle() {
    for (bool has_happened = true; has_happened;) {
      has_happened = false;
      for (const auto& link : links_) has_happened = link->poll() || has_happened;
      if (has_happened || held_views_.empty()) continue;
      const ViewReceiver receiver = std::move(held_views_.front());
      held_views_.pop_front();
      give_view(receiver);
      has_happened = true;
    }
  }
  [[nodiscard]] MatchExchange& at(std::uint32_t rank) { return *exchanges_[rank]; }
  [[nodiscard]] std::uint64_t packets() const {
    std::uint64_t packets = 0;
    for (const auto& link : links_) packets += link->counters(PacketKind::exchange).packets_sent;
    return packets;
  }

  bool is_slow = false;  ///< views come when nothing else happens

 private:
  void give_view(const ViewReceiver& receiver) {
    if (step_ == nullptr) return receiver({NC_EIO, "the step was discarded"}, nullptr);
    receiver({}, std::make_shared<matcher::StepView>(step_->view()));
  }

  std::uint32_t per_node_;
  std::vector<std::unique_ptr<PeerLink>> links_;
  std::deque<RankMemory> memories_;
  std::vector<std::unique_ptr<MatchExchange>> exchanges_;
  std::deque<ViewReceiver> held_views_;
  const SpreadStep* step_ = nullptr;
};

/// Reads where the writers' data is, wherever that is.
class EveryLog final : public replay::LogReader {
 public:
  explicit EveryLog(SpreadStep& step) : step_(step) {}
  std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    return step_.at(writer, log_offset);
  }

 private:
  SpreadStep& step_;
};

std::vector<std::int32_t> run(SpreadStep& step, const replay::Plan& plan) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(plan.elements), 99);
  EveryLog log(step);
  const std::int32_t fill = SpreadStep::fill;
  CHECK(replay::execute(plan, log, {formats::Type::int32, formats::Type::int32, false, &fill},
                        values.data()) == NC_NOERR);
  return values;
}

std::vector<std::vector<std::int64_t>> random_shapes(test::HyperslabGenerator& random) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t i = random.between(1, 4); i > 0; --i) {
    shapes.push_back(random.shape(static_cast<std::size_t>(random.between(0, 4)), 400));
    if (random.chance(30)) shapes.back().insert(shapes.back().begin(), -1);
  }
  return shapes;
}

std::vector<MatcherPlace> random_writers(const Ranks& ranks, test::HyperslabGenerator& random) {
  std::vector<MatcherPlace> writers;
  for (std::int64_t i = random.between(1, 9); i > 0; --i) {
    writers.push_back(ranks.place(static_cast<std::uint32_t>(random.between(0, ranks.size() - 1))));
  }
  return writers;
}

void put_at_random(SpreadStep& step, test::HyperslabGenerator& random, std::int64_t puts) {
  for (std::int64_t i = 0; i < puts; ++i) {
    const auto writer = static_cast<std::uint32_t>(random.between(0, step.writers() - 1));
    const int varid = static_cast<int>(random.between(0, step.header().variable_count() - 1));
    const auto shape = step.header().shape(varid);
    if (test::elements_of(shape) == 0) continue;
    if (random.chance(10)) {
      step.fill_box(writer, varid, random.hyperslab(shape));
    } else {
      step.put(writer, varid, random.hyperslab(shape));
    }
  }
}

void read_at_random(Ranks& ranks, SpreadStep& step, test::HyperslabGenerator& random) {
  struct Read {
    int varid = 0;
    std::vector<Hyperslab> slabs;
    Answer answer;
  };
  std::deque<Read> reads(static_cast<std::size_t>(random.between(1, 6)));
  for (Read& read : reads) {
    read.varid = static_cast<int>(random.between(0, step.header().variable_count() - 1));
    const auto shape = step.header().shape(read.varid);
    for (std::int64_t i = random.between(1, 4); i > 0 && test::elements_of(shape) > 0; --i)
      read.slabs.push_back(random.hyperslab(shape));
    ranks.get(static_cast<std::uint32_t>(random.between(0, ranks.size() - 1)), read.varid, read.slabs,
              read.answer);
  }
  ranks.settle();
  for (Read& read : reads) {
    REQUIRE(read.answer.has_come);
    REQUIRE(read.answer.outcome.text == "");
    REQUIRE(read.answer.matched.plans.size() == 1);
    CHECK(run(step, read.answer.matched.plans[0]) == step.expected(read.varid, read.slabs));
  }
}

}  // namespace

TEST_SUITE("match exchange") {
  TEST_CASE("whatever ranks wrote and read, a get has the values of a dense array") {
    const std::uint64_t seed = std::random_device{}();
    CAPTURE(seed);
    test::HyperslabGenerator random(seed);
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      matcher::Partition partition;
      partition.kind = random.chance(80) ? matcher::PartitionKind::range : matcher::PartitionKind::variable;
      partition.least_elements = random.between(1, 50);
      Ranks ranks(static_cast<std::uint32_t>(random.between(1, 4)),
                  static_cast<std::uint32_t>(random.between(1, 2)), partition);
      ranks.is_slow = random.chance(50);
      SpreadStep step(test::header_of_shapes(random_shapes(random), random.between(0, 5)),
                      random_writers(ranks, random), ranks.memory());
      ranks.tell(step);
      put_at_random(step, random, random.between(0, 60));
      step.publish();
      for (int i = 0; i < 5; ++i) read_at_random(ranks, step, random);
    }
  }

  TEST_CASE(
      "gets on a step that is being written see what was put before them, and so on when it is published") {
    const std::uint64_t seed = std::random_device{}();
    CAPTURE(seed);
    test::HyperslabGenerator random(seed);
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      Ranks ranks(static_cast<std::uint32_t>(random.between(1, 3)), 1, {});
      ranks.is_slow = random.chance(50);
      SpreadStep step(test::header_of_shapes(random_shapes(random), random.between(0, 5)),
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

  TEST_CASE("a damaged request table is an error for every get on the step, and for no other") {
    Ranks ranks(3, 1, {.least_elements = 1});
    SpreadStep step(test::header_of_shapes({{12}}, 0), {{0, 0}, {1, 0}, {2, 0}}, ranks.memory());
    ranks.tell(step);
    for (std::uint32_t writer = 0; writer < 3; ++writer) step.put(writer, 0, {{writer * 4}, {4}, {}});
    step.publish();
    step.damage(1, 6, 0xff);  // kind of the entry behind the segment's
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      for (int again = 0; again < 2; ++again) {
        Answer answer;
        ranks.get(rank, 0, {{{0}, {12}, {}}}, answer);
        ranks.settle();
        CHECK(answer.has_come);
        CHECK(answer.outcome.status == NC_EIO);
        CHECK(answer.outcome.text.find("request table") != std::string::npos);
      }
      ranks.at(rank).forget(1);
    }
  }

  TEST_CASE("a get that does not fit the step is an error") {
    Ranks ranks(2, 1, {});
    SpreadStep step(test::header_of_shapes({{12}}, 0), {{1, 0}}, ranks.memory());
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
    SpreadStep step(test::header_of_shapes({{12}}, 0), {{1, 0}}, ranks.memory());
    ranks.tell(step);
    step.put(0, 0, {{0}, {12}, {}});
    step.publish();
    Answer answer;
    ranks.get(0, 0, {{{0}, {12}, {}}}, answer);
    ranks.at(0).forget(1);
    ranks.settle();
    CHECK(answer.has_come);
    ranks.at(1).forget(1);
    CHECK(ranks.at(1).known_steps() == 0);
  }

  TEST_CASE("an owner is asked once a get, and collects once a step") {
    constexpr std::uint32_t size = 4;
    Ranks ranks(size, 1, {.least_elements = 1});
    std::vector<MatcherPlace> writers;
    for (std::uint32_t i = 0; i < 8; ++i) writers.push_back({i % size, 0});
    SpreadStep step(test::header_of_shapes({{64}, {64}}, 0), writers, ranks.memory());
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
      CHECK(ranks.packets() - before == 2 * size + (i == 0 ? 2 * size * size : 0));
    }
  }

  TEST_CASE("damaged packets are errors") {
    Ranks ranks(1, 1, {});
    const std::vector<std::byte> nothing;
    for (const auto kind : {ExchangePacket::collect, ExchangePacket::collected, ExchangePacket::match_parts,
                            ExchangePacket::matched_parts}) {
      CHECK_THROWS_AS(ranks.at(0).take(0, kind, nothing), Error);
    }
  }
}
