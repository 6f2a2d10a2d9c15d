#include "sluice/runtime/peer_link.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "sluice/formats/error.hpp"
#include "support/peer_traffic.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

using Links = std::vector<std::unique_ptr<PeerLink>>;

void settle(const Links& links) {
  for (bool has_happened = true; has_happened;) {
    has_happened = false;
    for (const auto& link : links) has_happened = link->poll() || has_happened;
  }
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_SUITE("peer link") {
  TEST_CASE("packets of all lengths arrive whole and in order, from every rank at every rank, itself too") {
    const auto seed = std::random_device{}();
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    constexpr std::uint32_t size = 4;
    const Links links = links_within_process(size);
    std::vector<NumberedReceiver> receivers(size, NumberedReceiver(size));
    std::vector<std::vector<std::uint64_t>> sent(size, std::vector<std::uint64_t>(size, 0));
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      links[rank]->on_packet(PacketKind::relay, [&, rank](std::uint32_t from, auto bytes) {
        receivers[rank].take(from, bytes);
      });
    }
    for (int i = 0; i < 2000; ++i) {
      const auto from = static_cast<std::uint32_t>(random() % size);
      const auto to = static_cast<std::uint32_t>(random() % size);
      links[from]->send(to, PacketKind::relay,
                        numbered_packet(from, sent[from][to]++, random_length(random)));
      if (random() % 4 == 0) links[random() % size]->poll();
    }
    settle(links);
    for (std::uint32_t to = 0; to < size; ++to) {
      CHECK(receivers[to].trouble().empty());
      CHECK(links[to]->is_idle());
      for (std::uint32_t from = 0; from < size; ++from)
        CHECK(receivers[to].received_from(from) == sent[from][to]);
    }
  }

  TEST_CASE("a packet without bytes arrives") {
    const Links links = links_within_process(2);
    int received = 0;
    links[1]->on_packet(PacketKind::relay, [&](std::uint32_t, auto bytes) { received += bytes.empty(); });
    links[0]->send(1, PacketKind::relay, {});
    settle(links);
    CHECK(received == 1);
  }

  TEST_CASE("packets overtake a stream, and what is sent behind its end arrives behind it") {
    const Links links = links_within_process(2);
    std::vector<std::string> received;
    for (const PacketKind kind : {PacketKind::relay, PacketKind::exchange}) {
      links[1]->on_packet(kind,
                          [&](std::uint32_t, auto bytes) { received.push_back(text_of(bytes.first(1))); });
    }
    int pieces = 0;
    links[0]->stream(1, PacketKind::exchange, [&](std::span<std::byte> room) -> std::size_t {
      if (pieces == 20) {
        links[0]->send(1, PacketKind::exchange, bytes_of("e"));
        return 0;
      }
      ++pieces;
      room[0] = std::byte{'s'};
      return room.size();
    });
    links[0]->poll();
    links[0]->send(1, PacketKind::relay, bytes_of("p"));
    settle(links);
    REQUIRE(received.size() == 22);
    CHECK(received.back() == "e");
    const auto packet = std::find(received.begin(), received.end(), "p");
    CHECK(packet - received.begin() < 10);
  }

  TEST_CASE("no more than a window of a stream is under way to a rank that does not take it") {
    const Links links = links_within_process(3);
    links[1]->on_packet(PacketKind::exchange, [](std::uint32_t, auto) {});
    links[2]->on_packet(PacketKind::exchange, [](std::uint32_t, auto) {});
    std::array<int, 3> pieces{};
    for (const std::uint32_t to : {1U, 2U}) {
      links[0]->stream(to, PacketKind::exchange, [&, to](std::span<std::byte> room) -> std::size_t {
        return pieces[to] == 100 ? 0 : (++pieces[to], room.size());
      });
    }
    for (int i = 0; i < 1000; ++i) {
      links[0]->poll();
      links[2]->poll();
    }
    CHECK(pieces[1] == PeerLink::window_bytes / PeerLink::max_stream_packet_bytes);
    CHECK(pieces[2] == 100);
    settle(links);
    CHECK(pieces[1] == 100);
    CHECK(links[0]->is_idle());
  }

  TEST_CASE("streams to one rank take turns") {
    const Links links = links_within_process(2);
    std::string order;
    links[1]->on_packet(PacketKind::exchange, [&](std::uint32_t, auto bytes) { order += text_of(bytes); });
    for (const char name : {'a', 'b', 'c'}) {
      links[0]->stream(1, PacketKind::exchange,
                       [name, left = 3](std::span<std::byte> room) mutable -> std::size_t {
                         room[0] = static_cast<std::byte>(name);
                         return left-- > 0 ? 1 : 0;
                       });
    }
    settle(links);
    CHECK(order == "abcabcabc");
  }

  TEST_CASE("a handler may answer, and each side counts what went over the link") {
    const Links links = links_within_process(2);
    std::string answer;
    links[1]->on_packet(PacketKind::exchange, [&](std::uint32_t from, auto bytes) {
      links[1]->send(from, PacketKind::exchange, bytes_of(text_of(bytes) + "!"));
    });
    links[0]->on_packet(PacketKind::exchange, [&](std::uint32_t, auto bytes) { answer = text_of(bytes); });
    links[0]->send(1, PacketKind::exchange, bytes_of("hello"));
    settle(links);
    CHECK(answer == "hello!");
    const PeerCounters& counters = links[0]->counters(PacketKind::exchange);
    CHECK(counters.packets_sent == 1);
    CHECK(counters.bytes_sent == 5);
    CHECK(counters.packets_received == 1);
    CHECK(counters.bytes_received == 6);
    CHECK(links[0]->counters(PacketKind::relay).packets_sent == 0);
  }

  TEST_CASE("a packet that nobody expects is an error") {
    const Links links = links_within_process(2);
    links[0]->send(1, PacketKind::relay, bytes_of("x"));
    CHECK_THROWS_AS(links[1]->poll(), Error);
  }
}
