#include "sluice/runtime/peer_link.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "sluice/formats/error.hpp"
#include "support/peer_traffic.hpp"
#include "support/seed.hpp"

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
    std::mt19937_64 random(sluice::test::test_seed());
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

  TEST_CASE("data lands where its receiver has named places, piece by piece and in their order") {
    const Links links = links_within_process(2);
    std::vector<std::byte> memory(100, std::byte{7});
    std::vector<std::size_t> landed;
    for (int i = 0; i < 4; ++i) {
      links[1]->expect_data({0, 5}, std::span(memory).subspan(static_cast<std::size_t>(i) * 20, 10),
                            [&](std::size_t bytes) { landed.push_back(bytes); });
    }
    CHECK(links[1]->is_expecting());
    const std::vector<std::byte> elsewhere = bytes_of("elsewhere!");
    const auto keeper = std::make_shared<int>(0);
    int pieces = 0;
    links[0]->send_data({1, 5}, [&](std::span<std::byte> room) -> PeerLink::Data {
      switch (pieces++) {
        case 0:
          std::ranges::copy(bytes_of("0123456789"), room.begin());
          return {room.first(10), nullptr, false};
        case 1:
          return {elsewhere, keeper, false};
        case 2:
          return {};
        default:
          std::ranges::copy(bytes_of("end"), room.begin());
          return {room.first(3), nullptr, true};
      }
    });
    links[0]->poll();
    CHECK(keeper.use_count() == 2);  // while it is under way
    settle(links);
    CHECK(keeper.use_count() == 1);
    CHECK(landed == std::vector<std::size_t>{10, 10, 0, 3});
    CHECK(text_of(std::span(memory).subspan(0, 10)) == "0123456789");
    CHECK(text_of(std::span(memory).subspan(20, 10)) == "elsewhere!");
    CHECK(text_of(std::span(memory).subspan(60, 3)) == "end");
    CHECK(std::ranges::count(memory, std::byte{7}) == 100 - 23);  // and no other byte
    CHECK_FALSE(links[1]->is_expecting());
    CHECK(links[0]->is_idle());
    CHECK(pieces == 4);
    CHECK(links[0]->counters(PacketKind::exchange).packets_sent == 4);
    CHECK(links[1]->counters(PacketKind::exchange).bytes_received == 23);
  }

  TEST_CASE("channels are apart from each other, and so are ranks") {
    const Links links = links_within_process(3);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> places;
    for (const std::uint32_t from : {0U, 1U}) {
      for (const std::uint32_t channel : {1U, 0U}) {
        std::string& place = places[{from, channel}];
        place.resize(2);
        links[2]->expect_data({from, channel}, std::as_writable_bytes(std::span(place)), [](std::size_t) {});
      }
    }
    for (const std::uint32_t channel : {0U, 1U}) {
      for (const std::uint32_t from : {0U, 1U}) {
        links[from]->send_data({2, channel}, [=](std::span<std::byte> room) -> PeerLink::Data {
          room[0] = static_cast<std::byte>('0' + from);
          room[1] = static_cast<std::byte>('0' + channel);
          return {room.first(2), nullptr, true};
        });
      }
    }
    settle(links);
    for (const auto& [key, place] : places)
      CHECK(place == std::to_string(key.first) + std::to_string(key.second));
  }

  TEST_CASE("data that is longer than its place is an error, and nothing is written") {
    const Links links = links_within_process(2);
    std::vector<std::byte> memory(8, std::byte{7});
    links[1]->expect_data({0, 0}, std::span(memory).first(4), [](std::size_t) {});
    links[0]->send_data({1, 0}, [](std::span<std::byte> room) -> PeerLink::Data {
      return {room.first(5), nullptr, true};
    });
    links[0]->poll();
    CHECK_THROWS_AS(links[1]->poll(), Error);
    CHECK(std::ranges::count(memory, std::byte{7}) == 8);
  }

  TEST_CASE("data that no rank receives does not delay packets") {
    const Links links = links_within_process(2);
    std::string received;
    for (const PacketKind kind : {PacketKind::relay, PacketKind::exchange})
      links[1]->on_packet(kind, [&](std::uint32_t, auto bytes) { received += text_of(bytes); });
    bool is_over = false;
    for (const std::uint32_t channel : {0U, 1U}) {
      links[0]->send_data({1, channel}, [&](std::span<std::byte> room) -> PeerLink::Data {
        return {room, nullptr, is_over};
      });
    }
    for (int i = 0; i < 10; ++i) links[0]->poll();
    links[0]->send(1, PacketKind::relay, bytes_of("relay "));
    links[0]->send(1, PacketKind::exchange, std::vector<std::byte>(3U << 20, std::byte{'x'}));
    for (int i = 0; i < 10; ++i) {
      links[0]->poll();
      links[1]->poll();
    }
    CHECK(received.size() == 6 + (3U << 20));
    is_over = true;
    std::vector<std::byte> memory(PeerLink::max_data_piece_bytes);
    for (int i = 0; i < 2 * 4; ++i)
      links[1]->expect_data({0, static_cast<std::uint32_t>(i % 2)}, memory, [](std::size_t) {});
    settle(links);
  }

  TEST_CASE("no more than a window of data is under way to a rank that does not take it") {
    const Links links = links_within_process(3);
    std::vector<std::byte> memory(PeerLink::max_data_piece_bytes);
    std::array<int, 3> pieces{};
    for (const std::uint32_t to : {1U, 2U}) {
      links[0]->send_data({to, 0}, [&, to](std::span<std::byte> room) -> PeerLink::Data {
        return {room, nullptr, ++pieces[to] == 100};
      });
    }
    const auto expect = [&](std::uint32_t rank) {
      for (int i = 0; i < 100; ++i) links[rank]->expect_data({0, 0}, memory, [](std::size_t) {});
    };
    expect(2);
    for (int i = 0; i < 1000; ++i) {
      for (const auto& link : links) link->poll();
    }
    CHECK(pieces[1] == PeerLink::window_bytes / PeerLink::max_data_piece_bytes);
    CHECK(pieces[2] == 100);
    CHECK_FALSE(links[0]->is_idle());
    expect(1);
    settle(links);
    CHECK(pieces[1] == 100);
    CHECK(links[0]->is_idle());
  }

  TEST_CASE("empty pieces are bounded, too, and so is all data under way") {
    constexpr std::uint32_t ranks = 40;
    const Links links = links_within_process(ranks);
    std::size_t pieces = 0;
    std::size_t bytes = 0;
    links[0]->send_data({1, 0}, [&](std::span<std::byte>) -> PeerLink::Data {
      ++pieces;
      return {};
    });
    for (int i = 0; i < 100; ++i) links[0]->poll();
    CHECK(pieces <= PeerLink::window_bytes / 4096);
    for (std::uint32_t to = 2; to < ranks; ++to) {
      links[0]->send_data({to, 0}, [&](std::span<std::byte> room) -> PeerLink::Data {
        bytes += room.size();
        return {room, nullptr, false};
      });
    }
    for (int i = 0; i < 100; ++i) links[0]->poll();
    CHECK(bytes <= PeerLink::data_bytes_under_way);
    CHECK(bytes > PeerLink::data_bytes_under_way / 2);
  }

  TEST_CASE("several channels to one rank take turns") {
    const Links links = links_within_process(2);
    std::string order;
    std::byte place{};
    for (const std::uint32_t channel : {0U, 1U, 2U}) {
      links[0]->send_data({1, channel}, [&, channel, left = 3](std::span<std::byte> room) mutable {
        order += static_cast<char>('a' + channel);
        return PeerLink::Data{room.first(1), nullptr, --left == 0};
      });
      for (int i = 0; i < 3; ++i) links[1]->expect_data({0, channel}, {&place, 1}, [](std::size_t) {});
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

  TEST_CASE("a packet without a receiver is an error") {
    const Links links = links_within_process(2);
    links[0]->send(1, PacketKind::relay, bytes_of("x"));
    CHECK_THROWS_AS(links[1]->poll(), Error);
  }
}
