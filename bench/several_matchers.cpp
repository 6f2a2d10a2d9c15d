// Measures the first match of a step with several matchers, in two ways
// (docs/decisions/0044-divided-matching.md):
//
//  divided  each matcher indexes a part of every variable, and a get asks the owners (DistributedMatcher);
//  simple   the matcher of the reader gets the request tables of all others, and indexes them alone.
//
//  several_matchers [--map map_f_case_16p.nc] [--pieces N] [--repetitions N]
//
// All matchers run in this process. Each has its own clock, which advances by the processor time of its work.
// A packet arrives at the sender's time plus the time of the network below. The results are therefore the
// times of matchers that run side by side.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "distributed_matcher.hpp"
#include "matching_world.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/step_index.hpp"
#include "sluice/runtime/read_lists.hpp"

using namespace sluice;
using namespace sluice::bench;

namespace {

using matcher::MatcherPlace;
using runtime::Get;
using runtime::Outcome;
using Bytes = std::vector<std::byte>;

constexpr double latency_seconds = 5e-6;
constexpr double bytes_per_second = 5e9;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::int64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

/// The cost of one way.
struct Cost {
  double first_match = 0;  ///< seconds until the last reader has its plans
  double processor = 0;    ///< seconds of all matchers together
  std::int64_t packets = 0;
  std::int64_t packet_bytes = 0;
  /// largest memory of one matcher for the step, without the readers' plans
  std::int64_t most_kept_bytes = 0;
  std::size_t copies = 0;  ///< in all plans
};

/// Matchers side by side: each handles its packets in the order of arrival.
class SideBySide {
 public:
  explicit SideBySide(std::uint32_t matchers) : clocks_(matchers), kept_(matchers) {}

  using Take = std::function<void(std::uint32_t to, std::uint32_t from, const Bytes& packet)>;
  /// `to` runs `work` at time 0.
  void begin(std::uint32_t to, std::function<void()> work) { push(0, to, std::move(work)); }
  void send(std::uint32_t from, std::uint32_t to, Bytes packet, const Take& take) {
    double arrival = clocks_[from] + (processor_seconds() - begun_);
    if (from != to) {
      arrival += latency_seconds + static_cast<double>(packet.size()) / bytes_per_second;
      ++cost_.packets;
      cost_.packet_bytes += static_cast<std::int64_t>(packet.size());
    }
    const auto bytes = static_cast<std::int64_t>(packet.size());
    under_way_ += bytes;
    auto shared = std::make_shared<Bytes>(std::move(packet));  // a std::function can be copied
    push(arrival, to, [this, to, from, bytes, shared, &take]() mutable {
      take(to, from, *shared);
      shared.reset();
      under_way_ -= bytes;
    });
  }
  /// The matcher does not keep it.
  void give_to_reader(const runtime::MatchedGet& matched) {
    for (const replay::Plan& plan : matched.plans) cost_.copies += plan.copies.size();
  }
  Cost run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      clocks_[event.to] = std::max(clocks_[event.to], event.seconds);
      const std::int64_t heap = heap_bytes() - under_way_;
      begun_ = processor_seconds();
      (*event.work)();
      const double seconds = processor_seconds() - begun_;
      clocks_[event.to] += seconds;
      cost_.processor += seconds;
      kept_[event.to] += heap_bytes() - under_way_ - heap;
    }
    cost_.first_match = *std::ranges::max_element(clocks_);
    cost_.most_kept_bytes = *std::ranges::max_element(kept_);
    return cost_;
  }

 private:
  struct Event {
    double seconds = 0;
    std::uint64_t number = 0;
    std::uint32_t to = 0;
    std::shared_ptr<std::function<void()>> work;
    bool operator<(const Event& other) const {
      return seconds != other.seconds ? seconds > other.seconds : number > other.number;
    }
  };
  void push(double seconds, std::uint32_t to, std::function<void()> work) {
    events_.push({seconds, next_++, to, std::make_shared<std::function<void()>>(std::move(work))});
  }

  std::vector<double> clocks_;
  std::vector<std::int64_t> kept_;
  std::priority_queue<Event> events_;
  std::uint64_t next_ = 0;
  double begun_ = 0;
  std::int64_t under_way_ = 0;  ///< bytes of packets
  Cost cost_;
};

// Divided

/// The interface of a matcher to the others.
class Host final : public runtime::ExchangeHost {
 public:
  Host(MatchingWorld& world, std::uint32_t rank, SideBySide& run, const SideBySide::Take& take)
      : world_(world), rank_(rank), run_(run), take_(take) {}
  std::uint32_t rank_of(MatcherPlace place) const override { return world_.rank_of(place); }
  void send(std::uint32_t to, Bytes packet) override { run_.send(rank_, to, std::move(packet), take_); }
  void view(std::uint64_t, runtime::ViewReceiver receiver) override { receiver({}, world_.view()); }

 private:
  MatchingWorld& world_;
  std::uint32_t rank_;
  SideBySide& run_;
  const SideBySide::Take& take_;
};

Cost divided(MatchingWorld& world) {
  SideBySide run(world.matchers());
  std::deque<Host> hosts;
  std::deque<runtime::DistributedMatcher> matchers;
  const SideBySide::Take take = [&](std::uint32_t to, std::uint32_t from, const Bytes& packet) {
    matchers[to].take(from, static_cast<runtime::ExchangePacket>(packet.front()),
                      std::span(packet).subspan(1));
  };
  matcher::Partition partition;
  partition.owners = world.matchers();
  for (std::uint32_t rank = 0; rank < world.matchers(); ++rank) {
    hosts.emplace_back(world, rank, run, take);
    matchers.emplace_back(hosts.back(), world.memory(rank),
                          runtime::DistributedMatcher::Seat{rank, world.place(rank), partition});
  }
  for (std::size_t reader = 0; reader < processes; ++reader) {
    const std::uint32_t rank = world.rank_of_process(reader);
    run.begin(rank, [&, rank, get = world.get_of(reader)] {
      matchers[rank].match(get, [&](const Outcome& outcome, runtime::MatchedGet matched) {
        if (outcome.is_failure()) throw Error(NC_EIO, outcome.text);
        run.give_to_reader(matched);
      });
    });
  }
  return run.run();
}

// Simple

/// The tables of all writers: those of this matcher's node in place, and copies of the others.
class TablesOfStep final : public matcher::SegmentMemory {
 public:
  TablesOfStep(MatchingWorld& world, std::uint32_t rank) : world_(world), node_(world.place(rank).node) {}
  void create(matcher::SegmentId, std::uint64_t) override {}
  bool create_spilled(matcher::SegmentId, std::uint64_t, matcher::DiskRoom) override { return false; }
  void clear(matcher::SegmentId, matcher::SegmentUse) override {}
  bool destroy(matcher::SegmentId) noexcept override { return true; }
  void mark_gone(matcher::SegmentId, std::uint32_t) noexcept override {}
  std::span<const std::byte> contents(matcher::SegmentId segment) override {
    const MatcherPlace owner = matcher::owner_of(segment);
    if (owner.node == node_) return world_.memory(world_.rank_of(owner)).contents(segment);
    return copies_.at(segment);
  }
  void keep(matcher::SegmentId segment, std::span<const std::byte> bytes) {
    copies_[segment].assign(bytes.begin(), bytes.end());
  }

 private:
  MatchingWorld& world_;
  std::uint32_t node_;
  std::map<matcher::SegmentId, Bytes> copies_;
};

/// A matcher that indexes a step alone.
class LoneMatcher {
 public:
  LoneMatcher(MatchingWorld& world, std::uint32_t rank, SideBySide& run, const SideBySide::Take& take)
      : world_(world), rank_(rank), run_(run), take_(take), tables_(world, rank) {}

  void match(const Get& get) {
    if (index_) return answer(get);
    waiting_.push_back(get);
    if (waiting_.size() > 1) return;
    for (std::uint32_t rank = 0; rank < world_.matchers(); ++rank) {
      if (world_.place(rank).node == world_.place(rank_).node) continue;
      ++missing_;
      run_.send(rank_, rank, Bytes(1, ask), take_);
    }
    if (missing_ == 0) make_index();
  }
  void take(std::uint32_t from, const Bytes& packet) {
    if (packet.front() == ask) return answer_tables(from);
    for (std::size_t at = 1; at < packet.size();) {
      std::uint64_t head[2];
      std::memcpy(head, packet.data() + at, sizeof head);
      at += sizeof head;
      tables_.keep(head[0], std::span(packet).subspan(at, head[1]));
      at += head[1];
    }
    if (--missing_ == 0) make_index();
  }

 private:
  static constexpr std::byte ask{1}, tables{2};

  /// Sends the published part of the table.
  void answer_tables(std::uint32_t to) {
    Bytes packet(1, tables);
    for (const matcher::LogView& log : world_.view()->logs) {
      for (const matcher::LogSegment& table : log.tables) {
        if (world_.rank_of(matcher::owner_of(table.segment)) != rank_) continue;
        const auto contents = world_.memory(rank_).contents(table.segment).first(8 + log.published.bytes);
        const std::uint64_t head[2]{table.segment, contents.size()};
        const auto words = std::as_bytes(std::span(head));
        packet.insert(packet.end(), words.begin(), words.end());
        packet.insert(packet.end(), contents.begin(), contents.end());
      }
    }
    run_.send(rank_, to, std::move(packet), take_);
  }
  void make_index() {
    index_ = std::make_unique<matcher::StepIndex>(tables_);
    index_->set_header(world_.view()->header);
    index_->update(world_.view()->logs, true);
    for (const Get& get : std::exchange(waiting_, {})) answer(get);
  }
  /// Answers as a single matcher does.
  void answer(const Get& get) {
    runtime::MatchedGet matched;
    std::map<std::pair<const matcher::WriteIndex*, std::uint32_t>, std::uint32_t> known;
    for (const runtime::ReadAccess& access : get.accesses) {
      const matcher::VariableWrites writes = index_->writes(access.varid);
      const auto [plan, is_new] =
          known.try_emplace({&writes.index, access.list}, static_cast<std::uint32_t>(matched.plans.size()));
      if (is_new) {
        replay::PlanBuilder builder(index_->element_bytes(access.varid));
        builder.add(runtime::slabs_of(runtime::list_of(get, access)), writes.index);
        matched.plans.push_back(builder.take());
      }
      matched.uses.push_back({plan->second, {writes.shifts.begin(), writes.shifts.end()}});
    }
    run_.give_to_reader(matched);
  }

  MatchingWorld& world_;
  std::uint32_t rank_;
  SideBySide& run_;
  const SideBySide::Take& take_;
  TablesOfStep tables_;
  std::unique_ptr<matcher::StepIndex> index_;
  std::size_t missing_ = 0;
  std::vector<Get> waiting_;
};

Cost simple(MatchingWorld& world) {
  SideBySide run(world.matchers());
  std::deque<LoneMatcher> matchers;
  const SideBySide::Take take = [&](std::uint32_t to, std::uint32_t from, const Bytes& packet) {
    matchers[to].take(from, packet);
  };
  for (std::uint32_t rank = 0; rank < world.matchers(); ++rank) matchers.emplace_back(world, rank, run, take);
  for (std::size_t reader = 0; reader < processes; ++reader) {
    const std::uint32_t rank = world.rank_of_process(reader);
    run.begin(rank, [&, rank, get = world.get_of(reader)] { matchers[rank].match(get); });
  }
  return run.run();
}

Cost best_of(int repetitions, MatchingWorld& world, Cost (*way)(MatchingWorld&)) {
  Cost best = way(world);
  for (int i = 1; i < repetitions; ++i) {
    const Cost again = way(world);
    best.first_match = std::min(best.first_match, again.first_match);
    best.processor = std::min(best.processor, again.processor);
    best.most_kept_bytes = std::min(best.most_kept_bytes, again.most_kept_bytes);
  }
  return best;
}

void measure(const Case& what, int repetitions) {
  std::printf("%s\n  nodes x matchers  way       first match   processor   packets        MB   kept MB\n",
              what.name.c_str());
  struct Layout {
    std::uint32_t nodes = 1, per_node = 1;
  };
  for (const Layout layout :
       {Layout{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {3, 1}, {4, 1}, {4, 2}, {16, 1}}) {
    MatchingWorld world(what, layout.nodes, layout.per_node);
    struct Way {
      const char* name;
      Cost (*run)(MatchingWorld&);
    };
    std::size_t copies[2] = {};
    for (const Way& way : {Way{"divided", divided}, Way{"simple", simple}}) {
      const Cost cost = best_of(repetitions, world, way.run);
      std::printf("  %5u x %-8u  %-8s %8.1f ms %8.1f ms %9lld %9.1f %9.1f\n", layout.nodes, layout.per_node,
                  way.name, cost.first_match * 1e3, cost.processor * 1e3,
                  static_cast<long long>(cost.packets), static_cast<double>(cost.packet_bytes) / 1e6,
                  static_cast<double>(cost.most_kept_bytes) / 1e6);
      copies[way.run == simple] = cost.copies;
    }
    std::printf("    copies in the plans: divided %zu, simple %zu\n", copies[0], copies[1]);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string map;
  std::size_t pieces = 1000000;
  int repetitions = 3;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--map") map = argv[i + 1];
    if (option == "--pieces") pieces = std::stoul(argv[i + 1]);
    if (option == "--repetitions") repetitions = std::max(std::stoi(argv[i + 1]), 1);
  }
  if (argc % 2 == 0) {
    std::fputs("usage: several_matchers [--map map_f_case_16p.nc] [--pieces N] [--repetitions N]\n", stderr);
    return 2;
  }
  if (!map.empty()) measure(climate(map), repetitions);
  measure(shuffled(pieces), repetitions);
  return 0;
}
