#pragma once
// Matcher ranks of several nodes in one process, which match and move data, over a SpreadStep.
#include <doctest/doctest.h>

#include <deque>

#include "match_exchange.hpp"
#include "node_exchange.hpp"
#include "owned_requests.hpp"
#include "sluice/runtime/peer_link.hpp"
#include "support/exchange_world.hpp"
#include "support/get_request.hpp"

namespace sluice::test {

using runtime::ExchangePacket;
using runtime::LandingPart;
using runtime::MatchedGet;
using runtime::MatchExchange;
using runtime::NodeExchange;
using runtime::Outcome;
using runtime::PacketKind;
using runtime::ViewReceiver;

struct Answer {
  bool has_come = false;
  std::uint32_t rank = 0;
  Outcome outcome;
  MatchedGet matched;
  std::vector<LandingPart> landed;
};

/// The matcher ranks, and what the registry would tell them.
class Ranks {
 public:
  Ranks(std::uint32_t nodes, std::uint32_t per_node, const matcher::Partition& partition)
      : per_node_(per_node),
        links_(runtime::links_within_process(nodes * per_node)),
        memories_(nodes * per_node) {
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      matchings_.push_back(std::make_unique<MatchExchange>(match_environment(rank, partition)));
      movings_.push_back(std::make_unique<NodeExchange>(move_environment(rank)));
      links_[rank]->on_packet(PacketKind::exchange, [this, rank](std::uint32_t from, auto bytes) {
        const auto kind = static_cast<ExchangePacket>(bytes.front());
        ++packets_of_kind_[kind];
        bytes_of_kind_[kind] += bytes.size();
        if (runtime::moves_data(kind)) {
          movings_[rank]->take(from, kind, bytes.subspan(1));
        } else {
          matchings_[rank]->take(from, kind, bytes.subspan(1));
        }
      });
    }
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(links_.size()); }
  [[nodiscard]] matcher::MatcherPlace place(std::uint32_t rank) const {
    return {rank / per_node_, rank % per_node_};
  }
  [[nodiscard]] std::function<RankMemory&(matcher::MatcherPlace)> memory() {
    return [this](matcher::MatcherPlace place) -> RankMemory& { return memories_[rank_of(place)]; };
  }
  void tell(SpreadStep& step) { step_ = &step; }

  /// Starts a get of one access; settle() brings the answer.
  void get(std::uint32_t rank, int varid, const std::vector<formats::Hyperslab>& reads, Answer& answer,
           std::uint64_t reader = 0) {
    get(rank, get_request(1, varid, reads), answer, reader);
  }
  void get(std::uint32_t rank, runtime::Get request, Answer& answer, std::uint64_t reader = 0) {
    matchings_[rank]->match(
        std::move(request), [this, rank, reader, &answer](const Outcome& outcome, MatchedGet matched) {
          if (outcome.is_failure() || !moves_data)
            return keep(answer, {true, rank, outcome, std::move(matched), {}});
          movings_[rank]->land(
              std::move(matched),
              [rank, &answer](const Outcome& landed, MatchedGet get, const std::vector<LandingPart>& parts) {
                keep(answer, {true, rank, landed, std::move(get), parts});
              },
              reader);
        });
  }
  /// One turn of all ranks.
  void turn() {
    for (const auto& link : links_) link->poll();
  }
  /// Lets packets arrive, and views and leases when nothing else happens.
  void settle() {
    for (bool has_happened = true; has_happened;) {
      has_happened = false;
      for (const auto& link : links_) has_happened = link->poll() || has_happened;
      if (has_happened || held_.empty()) continue;
      const auto give = std::move(held_.front());
      held_.pop_front();
      give();
      has_happened = true;
    }
  }
  /// There is memory for the leases that wait.
  void give_memory() {
    has_memory = true;
    for (auto waiting = std::exchange(waiting_leases_, {}); const auto& give : waiting) give();
  }
  void forget(std::uint32_t rank) {
    matchings_[rank]->forget(1);
    movings_[rank]->forget(1);
  }

  /// As if the rank had just begun: it has nothing of what it had before.
  void restart(std::uint32_t rank) {
    movings_[rank] = std::make_unique<NodeExchange>(move_environment(rank));
  }

  [[nodiscard]] MatchExchange& matching(std::uint32_t rank) { return *matchings_[rank]; }
  [[nodiscard]] NodeExchange& moving(std::uint32_t rank) { return *movings_[rank]; }
  [[nodiscard]] std::uint64_t packets() const {
    std::uint64_t packets = 0;
    for (const auto& link : links_) packets += link->counters(PacketKind::exchange).packets_sent;
    return packets;
  }
  [[nodiscard]] std::uint64_t bytes_of_exchange() const {
    std::uint64_t bytes = 0;
    for (const auto& link : links_) bytes += link->counters(PacketKind::exchange).bytes_sent;
    return bytes;
  }
  [[nodiscard]] std::uint64_t packets(ExchangePacket kind) { return packets_of_kind_[kind]; }
  [[nodiscard]] std::uint64_t bytes(ExchangePacket kind) { return bytes_of_kind_[kind]; }
  [[nodiscard]] std::uint64_t landed_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& moving : movings_) bytes += moving->landed_bytes();
    return bytes;
  }

  /// What a process of that rank gets by its plan: from logs of its own node's matcher, and from what has
  /// landed.
  [[nodiscard]] std::vector<std::int32_t> run(const Answer& answer, std::size_t access = 0) {
    class Reader final : public replay::LogReader {
     public:
      Reader(Ranks& ranks, const Answer& answer) : ranks_(ranks), answer_(answer) {}
      std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
        const SpreadStep& step = *ranks_.step_;
        if (writer < step.writers() && step.place_of(writer).node == ranks_.place(answer_.rank).node)
          return ranks_.step_->at(writer, log_offset);
        for (const LandingPart& part : answer_.landed) {
          for (const matcher::LogRange& range : part.ranges) {
            if (range.writer != writer || log_offset < range.log_offset) continue;
            const std::uint64_t skipped = log_offset - range.log_offset;
            if (skipped >= range.length_bytes) continue;
            REQUIRE(matcher::node_of(range.segment) == ranks_.place(answer_.rank).node);
            return ranks_.memories_[ranks_.rank_of(matcher::owner_of(range.segment))]
                .contents(range.segment)
                .subspan(range.segment_offset + skipped, range.length_bytes - skipped);
          }
        }
        return {};
      }

     private:
      Ranks& ranks_;
      const Answer& answer_;
    };
    const runtime::PlanUse& use = answer.matched.uses.at(access);
    const replay::Plan& plan = answer.matched.plans.at(use.plan);
    std::vector<std::int32_t> values(static_cast<std::size_t>(plan.elements), 99);
    Reader reader(*this, answer);
    replay::MovedLogs moved(reader, 0, use.shifts);
    const std::int32_t fill = SpreadStep::fill;
    CHECK(replay::execute(plan, moved, {formats::Type::int32, formats::Type::int32, false, &fill},
                          values.data()) == NC_NOERR);
    return values;
  }

  bool moves_data = true;
  bool is_slow = false;    ///< views and leases come when nothing else happens
  bool has_memory = true;  ///< false: leases that somebody waits for come with give_memory()
  Outcome lease_outcome;   ///< of every lease
  std::uint64_t leased_bytes = 0;
  std::vector<matcher::SegmentId> leased_segments;
  std::uint64_t pieces_not_packed = 0;  ///< that were sent from where they are
  std::vector<std::uint32_t> released;  ///< whose memory for what is no more was given up
  struct Lease {
    std::uint32_t rank = 0;
    NodeExchange::LeaseRequest request;
  };
  std::vector<Lease> leases;  ///< all that were asked for
  struct Joined {
    std::uint32_t rank = 0;
    NodeExchange::Reader reader;
  };
  std::vector<Joined> joined;

 private:
  static void keep(Answer& answer, Answer come) {
    CHECK_FALSE(answer.has_come);
    answer = std::move(come);
  }
  [[nodiscard]] std::uint32_t rank_of(matcher::MatcherPlace place) const {
    return place.node * per_node_ + place.index;
  }
  void now_or_later(std::function<void()> give) {
    if (!is_slow) return give();
    held_.push_back(std::move(give));
  }
  void give_view(const ViewReceiver& receiver) {
    if (step_ == nullptr) return receiver({NC_EIO, "the step was discarded"}, nullptr);
    receiver({}, std::make_shared<matcher::StepView>(step_->view()));
  }

  MatchExchange::Environment match_environment(std::uint32_t rank, const matcher::Partition& partition) {
    MatchExchange::Environment environment;
    environment.rank = rank;
    environment.place = place(rank);
    environment.rank_of = [this](matcher::MatcherPlace of) { return rank_of(of); };
    environment.partition = partition;
    environment.partition.owners = size();
    environment.memory = &memories_[rank];
    environment.send = [this, rank](std::uint32_t to, std::vector<std::byte> packet) {
      links_[rank]->send(to, PacketKind::exchange, std::move(packet));
    };
    environment.view = [this](std::uint64_t, ViewReceiver receiver) {
      now_or_later([this, receiver = std::move(receiver)] { give_view(receiver); });
    };
    return environment;
  }
  NodeExchange::Environment move_environment(std::uint32_t rank) {
    const MatchExchange::Environment common = match_environment(rank, {});
    NodeExchange::Environment environment;
    environment.place = common.place;
    environment.matchers_of_node = per_node_;
    environment.rank_of = common.rank_of;
    environment.memory = common.memory;
    environment.landing_memory = [this, rank](matcher::SegmentId segment) {
      return memories_[rank].writable(segment);
    };
    environment.send = common.send;
    environment.view = common.view;
    environment.send_data = [this, rank](runtime::PeerLink::DataRoute to,
                                         runtime::PeerLink::DataSource source) {
      links_[rank]->send_data(to, std::move(source));
    };
    environment.expect_data = [this, rank](runtime::PeerLink::DataRoute from, std::span<std::byte> place,
                                           runtime::PeerLink::Landed landed) {
      links_[rank]->expect_data(from, place, std::move(landed));
    };
    environment.keep_mapped = [this](matcher::SegmentId) {
      ++pieces_not_packed;
      return std::make_shared<int>(0);
    };
    environment.on_release = [this, rank] { released.push_back(rank); };
    environment.lease = [this, rank](const NodeExchange::LeaseRequest& request, auto receiver) {
      const auto give = [this, rank, request, receiver] {
        const matcher::SegmentId segment = matcher::segment_id(place(rank), next_segment_++);
        if (!lease_outcome.is_failure()) memories_[rank].create(segment, request.wanted_bytes);
        if (!lease_outcome.is_failure()) leased_bytes += request.wanted_bytes;
        if (!lease_outcome.is_failure()) leased_segments.push_back(segment);
        receiver(lease_outcome, matcher::LogSegment{segment, request.wanted_bytes});
      };
      leases.push_back({rank, request});
      if (has_memory || request.is_ahead) return now_or_later(give);
      waiting_leases_.push_back(give);
    };
    environment.join_lease = [this, rank](std::uint64_t, const NodeExchange::Reader& reader) {
      joined.push_back({rank, reader});
    };
    return environment;
  }

  std::uint32_t per_node_;
  std::vector<std::unique_ptr<runtime::PeerLink>> links_;
  std::deque<RankMemory> memories_;
  std::vector<std::unique_ptr<MatchExchange>> matchings_;
  std::vector<std::unique_ptr<NodeExchange>> movings_;
  std::map<ExchangePacket, std::uint64_t> packets_of_kind_, bytes_of_kind_;
  std::deque<std::function<void()>> held_;
  std::vector<std::function<void()>> waiting_leases_;
  SpreadStep* step_ = nullptr;
  std::uint64_t next_segment_ = 1U << 20;
};

inline std::vector<std::vector<std::int64_t>> random_shapes(HyperslabGenerator& random) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t i = random.between(1, 4); i > 0; --i) {
    shapes.push_back(random.shape(static_cast<std::size_t>(random.between(0, 4)), 400));
    if (random.chance(30)) shapes.back().insert(shapes.back().begin(), -1);
  }
  return shapes;
}

inline std::vector<matcher::MatcherPlace> random_writers(const Ranks& ranks, HyperslabGenerator& random) {
  std::vector<matcher::MatcherPlace> writers;
  for (std::int64_t i = random.between(1, 9); i > 0; --i) {
    writers.push_back(ranks.place(static_cast<std::uint32_t>(random.between(0, ranks.size() - 1))));
  }
  return writers;
}

inline void put_at_random(SpreadStep& step, HyperslabGenerator& random, std::int64_t puts) {
  for (std::int64_t i = 0; i < puts; ++i) {
    const auto writer = static_cast<std::uint32_t>(random.between(0, step.writers() - 1));
    const int varid = static_cast<int>(random.between(0, step.header().variable_count() - 1));
    const auto shape = step.header().shape(varid);
    if (elements_of(shape) == 0) continue;
    if (random.chance(10)) {
      step.fill_box(writer, varid, random.hyperslab(shape));
    } else if (!shape.empty() && random.chance(20)) {
      step.put_list(writer, varid, {random.hyperslab(shape), random.hyperslab(shape)});
    } else {
      step.put(writer, varid, random.hyperslab(shape));
    }
  }
}

inline void read_at_random(Ranks& ranks, SpreadStep& step, HyperslabGenerator& random) {
  struct Read {
    int varid = 0;
    std::vector<formats::Hyperslab> slabs;
    Answer answer;
  };
  std::deque<Read> reads(static_cast<std::size_t>(random.between(1, 6)));
  for (Read& read : reads) {
    read.varid = static_cast<int>(random.between(0, step.header().variable_count() - 1));
    const auto shape = step.header().shape(read.varid);
    for (std::int64_t i = shape.empty() ? 1 : random.between(1, 4); i > 0 && elements_of(shape) > 0; --i)
      read.slabs.push_back(random.hyperslab(shape));
    ranks.get(static_cast<std::uint32_t>(random.between(0, ranks.size() - 1)), read.varid, read.slabs,
              read.answer);
  }
  ranks.settle();
  for (Read& read : reads) {
    REQUIRE(read.answer.has_come);
    REQUIRE(read.answer.outcome.text == "");
    REQUIRE(read.answer.matched.plans.size() == 1);
    CHECK(ranks.run(read.answer) == step.expected(read.varid, read.slabs));
  }
}

}  // namespace sluice::test
