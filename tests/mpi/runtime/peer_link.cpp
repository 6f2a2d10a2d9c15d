// The link between matchers, by MPI.
#include "sluice/runtime/peer_link.hpp"

#include <doctest/doctest.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "mpi_transport.hpp"
#include "support/peer_traffic.hpp"
#include "support/seed.hpp"

using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

struct World {
  World() : link(std::make_unique<MpiTransport>(MPI_COMM_WORLD)) {}

  /// Polls until `is_done` here, and then at all ranks.
  template <class Condition>
  void poll_until(const Condition& is_done) {
    MPI_Request all = MPI_REQUEST_NULL;
    int have_all = 0;
    while (have_all == 0) {
      if (!link.poll()) ::sched_yield();
      if (all == MPI_REQUEST_NULL && is_done() && link.is_idle()) MPI_Ibarrier(MPI_COMM_WORLD, &all);
      if (all != MPI_REQUEST_NULL) MPI_Test(&all, &have_all, MPI_STATUS_IGNORE);
    }
  }

  PeerLink link;
};

}  // namespace

TEST_SUITE("peer link by MPI") {
  TEST_CASE("packets of all lengths arrive whole and in order, from every rank at every rank") {
    World world;
    const std::uint32_t rank = world.link.rank();
    const std::uint32_t size = world.link.size();
    std::uint64_t seed = rank == 0 ? sluice::test::test_seed() : 0;
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    std::mt19937_64 random(seed + rank);
    NumberedReceiver receiver(size);
    world.link.on_packet(PacketKind::relay,
                         [&](std::uint32_t from, auto bytes) { receiver.take(from, bytes); });
    std::vector<std::uint64_t> sent(size, 0);
    for (int i = 0; i < 1000; ++i) {
      const auto to = static_cast<std::uint32_t>(random() % size);
      world.link.send(to, PacketKind::relay, numbered_packet(rank, sent[to]++, random_length(random)));
      if (random() % 4 == 0) world.link.poll();
    }
    std::vector<std::uint64_t> expected(size);
    MPI_Alltoall(sent.data(), 1, MPI_UINT64_T, expected.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    world.poll_until([&] {
      for (std::uint32_t from = 0; from < size; ++from) {
        if (receiver.received_from(from) < expected[from]) return false;
      }
      return true;
    });
    CHECK(receiver.trouble().empty());
    for (std::uint32_t from = 0; from < size; ++from) CHECK(receiver.received_from(from) == expected[from]);
  }

  TEST_CASE("data from all to one lands in its places, packed and from where it is, short pieces and none") {
    World world;
    const std::uint32_t rank = world.link.rank();
    const std::uint32_t size = world.link.size();
    constexpr std::uint32_t channels = 3;
    constexpr std::size_t pieces = 14;
    constexpr std::size_t place_bytes = PeerLink::max_data_piece_bytes;
    const auto length_of = [](std::size_t piece) -> std::size_t {
      if (piece % 7 == 3) return 0;
      return piece % 7 == 5 ? 17 : place_bytes;
    };
    const auto value_of = [](std::uint32_t from, std::uint32_t channel, std::size_t piece) {
      return static_cast<std::byte>(from * 64 + channel * 16 + piece + 1);
    };
    // Rank 0 receives what all others send. Two places of each channel are named ahead.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::byte>> memory;
    std::size_t landed = 0;
    bool is_as_sent = true;
    std::function<void(std::uint32_t, std::uint32_t, std::size_t)> expect =
        [&](std::uint32_t from, std::uint32_t channel, std::size_t piece) {
          if (piece >= pieces) return;
          const auto place = std::span(memory[{from, channel}]).subspan(piece % 2 * place_bytes, place_bytes);
          std::ranges::fill(place, std::byte{});
          world.link.expect_data({from, channel}, place, [&, from, channel, piece, place](std::size_t bytes) {
            ++landed;
            const std::byte value = value_of(from, channel, piece);
            is_as_sent =
                is_as_sent && bytes == length_of(piece) &&
                std::ranges::count(place, value) == static_cast<std::ptrdiff_t>(bytes) &&
                std::ranges::count(place, std::byte{}) == static_cast<std::ptrdiff_t>(place_bytes - bytes);
            expect(from, channel, piece + 2);
          });
        };
    for (std::uint32_t from = 1; rank == 0 && from < size; ++from) {
      for (std::uint32_t channel = 0; channel < channels; ++channel) {
        memory[{from, channel}].resize(2 * place_bytes);
        for (const std::size_t piece : {0U, 1U}) expect(from, channel, piece);
      }
    }
    for (std::uint32_t channel = 0; rank != 0 && channel < channels; ++channel) {
      world.link.send_data({0, channel}, [=, next = std::size_t{0}](std::span<std::byte> room) mutable {
        const std::size_t length = length_of(next);
        const std::byte value = value_of(rank, channel, next);
        const bool is_last = ++next == pieces;
        if (next % 2 == 0) {
          std::ranges::fill(room.first(length), value);
          return PeerLink::Data{room.first(length), nullptr, is_last};
        }
        const auto own = std::make_shared<std::vector<std::byte>>(length, value);
        return PeerLink::Data{*own, own, is_last};
      });
    }
    world.poll_until([&] { return rank != 0 || landed == (size - 1) * channels * pieces; });
    CHECK(is_as_sent);
    CHECK_FALSE(world.link.is_expecting());
  }

  TEST_CASE("a rank may leave when no other one expects anything") {
    World world;
    const std::uint32_t rank = world.link.rank();
    const std::uint32_t size = world.link.size();
    std::vector<std::byte> place(PeerLink::max_data_piece_bytes);
    std::uint32_t landed = 0;
    for (std::uint32_t from = 0; rank == 0 && from < size; ++from) {
      if (from != rank) world.link.expect_data({from, 0}, place, [&](std::size_t) { ++landed; });
    }
    if (rank != 0) {
      world.link.send_data({0, 0}, [](std::span<std::byte> room) {
        return PeerLink::Data{room, nullptr, true};
      });
      world.link.begin_to_leave();
    }
    bool has_left_early = false;
    while (rank == 0 && world.link.is_expecting()) world.link.poll();
    if (rank == 0) world.link.begin_to_leave();
    while (!world.link.may_leave() || !world.link.is_idle()) {
      if (!world.link.poll()) ::sched_yield();
    }
    has_left_early = rank == 0 && landed != size - 1;
    CHECK_FALSE(has_left_early);
  }
}
