#pragma once
// Matchers of several nodes in one process, which match and move the data of a SpreadStep.
#include <doctest/doctest.h>

#include <deque>

#include "distributed_matcher.hpp"
#include "owned_requests.hpp"
#include "remote_fetcher.hpp"
#include "sluice/runtime/peer_link.hpp"
#include "support/exchange_world.hpp"
#include "support/get_request.hpp"

namespace sluice::test {

using runtime::DistributedMatcher;
using runtime::ExchangePacket;
using runtime::InboundPart;
using runtime::MatchedGet;
using runtime::Outcome;
using runtime::PacketKind;
using runtime::RemoteFetcher;
using runtime::ViewReceiver;

struct Answer {
  bool has_come = false;
  std::uint32_t rank = 0;
  Outcome outcome;
  MatchedGet matched;
  std::vector<InboundPart> landed;
};

/// The matchers, and the messages that the registry would send them.
class Ranks {
 public:
  Ranks(std::uint32_t nodes, std::uint32_t per_node, const matcher::Partition& partition)
      : per_node_(per_node),
        links_(runtime::links_within_process(nodes * per_node)),
        memories_(nodes * per_node) {
    matcher::Partition divided = partition;
    divided.owners = size();
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      hosts_.push_back(std::make_unique<Host>(*this, rank));
      matchings_.push_back(std::make_unique<DistributedMatcher>(
          *hosts_[rank], memories_[rank], DistributedMatcher::Seat{rank, place(rank), divided}));
      movings_.push_back(new_fetcher(rank));
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

  /// Starts a get of one access. settle() completes it.
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
              [rank, &answer](const Outcome& landed, MatchedGet get, const std::vector<InboundPart>& parts) {
                keep(answer, {true, rank, landed, std::move(get), parts});
              },
              reader);
        });
  }
  /// One turn of all ranks.
  void turn() {
    for (const auto& link : links_) link->poll();
  }
  /// Delivers packets until nothing happens, then views and leases.
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
  /// Grants the leases that wait for memory.
  void give_memory() {
    has_memory = true;
    for (auto waiting = std::exchange(waiting_leases_, {}); const auto& give : waiting) give();
  }
  void forget(std::uint32_t rank) {
    matchings_[rank]->forget(1);
    movings_[rank]->forget(1);
  }

  /// Restarts a matcher, which loses everything that it knew.
  void restart(std::uint32_t rank) { movings_[rank] = new_fetcher(rank); }

  [[nodiscard]] DistributedMatcher& matching(std::uint32_t rank) { return *matchings_[rank]; }
  [[nodiscard]] RemoteFetcher& moving(std::uint32_t rank) { return *movings_[rank]; }
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

  /// The values that a process of that rank gets by its plan: from logs on its own node, and from data that
  /// has arrived.
  [[nodiscard]] std::vector<std::int32_t> run(const Answer& answer, std::size_t access = 0) {
    class Reader final : public replay::LogReader {
     public:
      Reader(Ranks& ranks, const Answer& answer) : ranks_(ranks), answer_(answer) {}
      std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
        const SpreadStep& step = *ranks_.step_;
        if (writer < step.writers() && step.place_of(writer).node == ranks_.place(answer_.rank).node)
          return ranks_.step_->at(writer, log_offset);
        for (const InboundPart& part : answer_.landed) {
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
  bool is_slow = false;    ///< views and leases come only when nothing else happens
  bool has_memory = true;  ///< false: leases that a get waits for come with give_memory()
  Outcome lease_outcome;   ///< the outcome of every lease
  std::uint64_t leased_bytes = 0;
  std::vector<matcher::SegmentId> leased_segments;
  std::uint64_t pieces_not_packed = 0;  ///< pieces that were sent from their place in memory
  std::vector<std::uint32_t> released;  ///< ranks that released the memory of ended steps
  struct Lease {
    std::uint32_t rank = 0;
    runtime::LeaseRequest request;
  };
  std::vector<Lease> leases;  ///< all requested leases
  struct Joined {
    std::uint32_t rank = 0;
    runtime::FetchReader reader;
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

  /// The services that a matcher needs.
  class Host final : public runtime::FetchHost {
   public:
    Host(Ranks& ranks, std::uint32_t rank) : ranks_(ranks), rank_(rank) {}

    std::uint32_t rank_of(matcher::MatcherPlace place) const override { return ranks_.rank_of(place); }
    void send(std::uint32_t to, std::vector<std::byte> packet) override {
      link().send(to, PacketKind::exchange, std::move(packet));
    }
    void view(std::uint64_t, ViewReceiver receiver) override {
      ranks_.now_or_later([this, receiver = std::move(receiver)] { ranks_.give_view(receiver); });
    }
    std::span<std::byte> inbound_memory(matcher::SegmentId segment) override {
      return ranks_.memories_[rank_].writable(segment);
    }
    std::shared_ptr<const void> keep_mapped(matcher::SegmentId) override {
      ++ranks_.pieces_not_packed;
      return std::make_shared<int>(0);
    }
    void open(std::vector<matcher::SegmentId> segments, runtime::SegmentUser use) override {
      use(segments, true);
    }
    void lease(const runtime::LeaseRequest& request, runtime::LeaseReceiver receiver) override {
      ranks_.lease(rank_, request, std::move(receiver));
    }
    void join_lease(std::uint64_t, const runtime::FetchReader& reader) override {
      ranks_.joined.push_back({rank_, reader});
    }
    void on_release() override { ranks_.released.push_back(rank_); }
    void send_data(runtime::PeerLink::DataRoute to, runtime::PeerLink::DataSource source) override {
      link().send_data(to, std::move(source));
    }
    void expect_data(runtime::PeerLink::DataRoute from, std::span<std::byte> place,
                     runtime::PeerLink::Landed landed) override {
      link().expect_data(from, place, std::move(landed));
    }

   private:
    [[nodiscard]] runtime::PeerLink& link() { return *ranks_.links_[rank_]; }
    Ranks& ranks_;
    std::uint32_t rank_;
  };

  void lease(std::uint32_t rank, const runtime::LeaseRequest& request, runtime::LeaseReceiver receiver) {
    const auto give = [this, rank, request, receiver = std::move(receiver)] {
      const matcher::SegmentId segment = matcher::segment_id(place(rank), next_segment_++);
      if (!lease_outcome.is_failure()) memories_[rank].create(segment, request.wanted_bytes);
      if (!lease_outcome.is_failure()) leased_bytes += request.wanted_bytes;
      if (!lease_outcome.is_failure()) leased_segments.push_back(segment);
      receiver(lease_outcome, matcher::LogSegment{segment, request.wanted_bytes});
    };
    leases.push_back({rank, request});
    if (has_memory || request.is_ahead) return now_or_later(give);
    waiting_leases_.push_back(give);
  }
  [[nodiscard]] std::unique_ptr<RemoteFetcher> new_fetcher(std::uint32_t rank) {
    return std::make_unique<RemoteFetcher>(*hosts_[rank], memories_[rank],
                                           RemoteFetcher::Seat{place(rank), per_node_});
  }

  std::uint32_t per_node_;
  std::vector<std::unique_ptr<runtime::PeerLink>> links_;
  std::deque<RankMemory> memories_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<DistributedMatcher>> matchings_;
  std::vector<std::unique_ptr<RemoteFetcher>> movings_;
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
