#include "relay_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/node_map.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

std::uint64_t number_of(const MessageToRegistry& message) {
  return std::get<ConnectionEnded>(message.body).connection;
}
std::uint64_t number_of(const MessageToMatcher& message) {
  if (const auto* const answer = std::get_if<Answer>(&message.body)) return answer->connection;
  return std::get<StepOver>(message.body).step;
}

/// All matchers of a run in one process: what the registry receives, and what each matcher receives from it.
struct Relays {
  explicit Relays(std::uint32_t size) : links(links_within_process(size)), received(size), rounds(size) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      trees.push_back(std::make_unique<RelayTree>(
          links[rank].get(),
          RelayTree::Handlers{[this](MessageToRegistry message) { registry.push_back(std::move(message)); },
                              [this, rank](const MessageToMatcher& message) {
                                if (const auto* const begin = std::get_if<BeginRound>(&message.body)) {
                                  rounds[rank].push_back(begin->round);
                                  if (at_round) at_round(rank);
                                } else {
                                  received[rank].push_back(number_of(message));
                                }
                              },
                              [this](std::uint64_t round) { rounds_done.push_back(round); }}));
    }
  }
  void settle() {
    for (bool has_happened = true; has_happened;) {
      has_happened = false;
      for (std::uint32_t rank = 0; rank < trees.size(); ++rank) {
        has_happened = links[rank]->poll() || has_happened;
        trees[rank]->flush();
        has_happened = links[rank]->poll() || has_happened;
        // An immediate send does not count as an event in poll(), and its receiver may have had its turn
        // already.
        has_happened = !links[rank]->is_idle() || has_happened;
      }
    }
  }
  void tell_registry(std::uint32_t rank, std::uint64_t number) {
    trees[rank]->send_up(ConnectionEnded{number});
  }
  void tell_matcher(std::uint32_t rank, std::uint64_t number) {
    trees[0]->send_down({rank, StepOver{number}});
  }

  void send_shared(const Receiver& to, const SharedMessage& message) {
    trees[0]->send_down(std::span(&to, 1), message);
  }

  std::vector<std::unique_ptr<PeerLink>> links;
  std::vector<std::unique_ptr<RelayTree>> trees;
  std::vector<MessageToRegistry> registry;
  std::vector<std::vector<std::uint64_t>> received;  ///< by rank
  std::vector<std::vector<std::uint64_t>> rounds;    ///< by rank
  std::vector<std::uint64_t> rounds_done;
  std::function<void(std::uint32_t rank)> at_round;
};

}  // namespace

TEST_SUITE("relay tree") {
  TEST_CASE("messages between matchers and registry arrive in order at their destination") {
    std::mt19937 random(test::test_seed());
    constexpr std::uint32_t size = 100;  // three levels
    Relays relays(size);
    std::vector<std::vector<std::uint64_t>> up(size);
    std::vector<std::vector<std::uint64_t>> down(size);
    for (std::uint64_t number = 1; number <= 3000; ++number) {
      const auto rank = static_cast<std::uint32_t>(random() % size);
      if (random() % 2 == 0) {
        relays.tell_registry(rank, number);
        up[rank].push_back(number);
      } else {
        relays.tell_matcher(rank, number);
        down[rank].push_back(number);
      }
      if (random() % 50 == 0) relays.settle();
    }
    relays.settle();
    std::vector<std::vector<std::uint64_t>> taken(size);
    for (const MessageToRegistry& message : relays.registry)
      taken.at(message.matcher).push_back(number_of(message));
    CHECK(taken == up);
    CHECK(relays.received == down);
  }

  TEST_CASE("one turn of a matcher makes one packet to each neighbour, however much it brought") {
    Relays relays(9);
    for (std::uint64_t i = 0; i < 1000; ++i) relays.tell_registry(5, i);
    relays.trees[5]->flush();
    CHECK(relays.links[5]->counters(PacketKind::relay).packets_sent == 1);
    for (std::uint64_t i = 0; i < 1000; ++i) relays.tell_matcher(static_cast<std::uint32_t>(1 + i % 8), i);
    relays.trees[0]->flush();
    CHECK(relays.links[0]->counters(PacketKind::relay).packets_sent == 8);
    relays.settle();
    CHECK(relays.registry.size() == 1000);
  }

  TEST_CASE("a message that many are sent in a turn is in each packet once, and keeps its place for each") {
    std::mt19937 random(test::test_seed());
    constexpr std::uint32_t size = 100;
    Relays relays(size);
    std::vector<std::vector<std::uint64_t>> down(size);
    std::uint64_t number = 1000;
    for (int turn = 0; turn < 30; ++turn) {
      const std::uint64_t first = ++number;
      const std::uint64_t second = ++number;
      const SharedMessage views[] = {share(StepOver{first}), share(StepOver{second})};
      const SharedMessage answer = share(Answer{0, 0, Done{}});
      for (int i = 0; i < 400; ++i) {
        const auto rank = static_cast<std::uint32_t>(1 + random() % (size - 1));
        const auto kind = random() % 4;
        if (kind == 3) relays.tell_matcher(rank, ++number);
        if (kind == 2) relays.send_shared({rank, 7, ++number}, answer);
        if (kind < 2) relays.send_shared({rank}, views[kind]);
        down[rank].push_back(kind == 0 ? first : kind == 1 ? second : number);
      }
      relays.settle();
    }
    CHECK(relays.received == down);
  }

  TEST_CASE("a shared message costs a few bytes for each further receiver") {
    constexpr std::uint32_t size = 73;
    Relays relays(size);
    const SharedMessage small = share(StepOver{1});
    for (std::uint32_t rank = 1; rank < size; ++rank) relays.send_shared({rank}, small);
    relays.settle();
    const auto few = relays.links[0]->counters(PacketKind::relay);
    CHECK(few.packets_sent == RelayTree::fan_out);
    CHECK(few.bytes_sent < RelayTree::fan_out * 100 + size * sizeof(Receiver));
    for (std::uint32_t rank = 1; rank < size; ++rank)
      CHECK(relays.received[rank] == std::vector<std::uint64_t>{1});
  }

  TEST_CASE("all matchers do a round, and it ends after all their earlier messages") {
    constexpr std::uint32_t size = 80;
    Relays relays(size);
    relays.at_round = [&](std::uint32_t rank) { relays.tell_registry(rank, 1000 + rank); };
    for (std::uint32_t rank = 0; rank < size; ++rank) relays.tell_registry(rank, rank);
    std::size_t registry_at_end = 0;
    const std::uint64_t first = relays.trees[0]->next_round();
    relays.trees[0]->start_round(TakeSent{"model", {}});
    CHECK(relays.trees[0]->has_open_rounds());
    while (relays.rounds_done.empty()) {
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        relays.links[rank]->poll();
        if (!relays.rounds_done.empty() && registry_at_end == 0) registry_at_end = relays.registry.size();
        relays.trees[rank]->flush();
        relays.links[rank]->poll();
      }
    }
    CHECK(relays.rounds_done == std::vector<std::uint64_t>{first});
    CHECK(registry_at_end == 2 * size);
    for (const auto& rounds : relays.rounds) CHECK(rounds == std::vector<std::uint64_t>{first});
    relays.settle();
    for (const auto& tree : relays.trees) CHECK_FALSE(tree->has_open_rounds());
  }

  TEST_CASE("a matcher that is alone needs no link") {
    std::vector<std::uint64_t> seen;
    RelayTree tree(nullptr, {[&](const MessageToRegistry& message) { seen.push_back(number_of(message)); },
                             [&](const MessageToMatcher& message) {
                               const auto* const begin = std::get_if<BeginRound>(&message.body);
                               seen.push_back(100 + (begin != nullptr ? begin->round : number_of(message)));
                             },
                             [&](std::uint64_t) { seen.push_back(999); }});
    tree.send_up(ConnectionEnded{7});
    tree.send_down({0, StepOver{7}});
    tree.start_round(StartServing{});
    tree.flush();
    CHECK(seen == std::vector<std::uint64_t>{7, 107, 101, 999});
  }
}

TEST_SUITE("node map") {
  TEST_CASE("each machine is a node, and its matchers have numbers of their own") {
    const NodeMap map(std::vector<std::uint32_t>{7, 7, 3, 7, 3}, 1);
    CHECK(map.nodes() == 2);
    CHECK(map.place_of(3) == matcher::MatcherPlace{0, 2});
    CHECK(map.rank_of({1, 1}) == 4);
    CHECK(map.matchers_of(1) == std::vector<std::uint32_t>{2, 4});
    CHECK(map.index_on_host(4) == 1);
    CHECK_THROWS_AS((void)map.rank_of({1, 2}), Error);
    CHECK_THROWS_AS((void)map.rank_of({2, 0}), Error);
  }

  TEST_CASE("virtual nodes divide one machine, each matcher with a socket of its own") {
    const NodeMap map(std::vector<std::uint32_t>(6, 1), 3);
    CHECK(map.nodes() == 3);
    CHECK(map.place_of(3) == matcher::MatcherPlace{1, 1});
    CHECK(map.index_on_host(3) == 3);
    CHECK(matcher_socket_path("/tmp/x/matcher", 0) == "/tmp/x/matcher");
    CHECK(matcher_socket_path("/tmp/x/matcher", 3) == "/tmp/x/matcher.3");
    CHECK_THROWS_AS(NodeMap(std::vector<std::uint32_t>(5, 1), 3), Error);
    CHECK_THROWS_AS(NodeMap(std::vector<std::uint32_t>{1, 1, 2, 2}, 2), Error);
  }
}
