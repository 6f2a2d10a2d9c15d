// The link between matcher ranks, by MPI.
#include "sluice/runtime/peer_link.hpp"

#include <doctest/doctest.h>
#include <mpi.h>
#include <sched.h>

#include "mpi_transport.hpp"
#include "support/peer_traffic.hpp"

using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

struct World {
  World() : link(std::make_unique<MpiTransport>(MPI_COMM_WORLD)) {}

  /// Polls until `is_done` here, and then until it is so at all ranks.
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
    std::uint64_t seed = std::random_device{}();
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    INFO("seed " << seed);
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

  TEST_CASE("streams from all to one arrive whole, and their ends behind them") {
    World world;
    const std::uint32_t rank = world.link.rank();
    const std::uint32_t size = world.link.size();
    constexpr int pieces = 40;
    std::vector<int> received(size, 0);
    std::uint32_t ended = 0;
    bool is_order_kept = true;
    world.link.on_packet(PacketKind::exchange, [&](std::uint32_t from, std::span<const std::byte> bytes) {
      is_order_kept = is_order_kept && bytes.size() == PeerLink::max_stream_packet_bytes &&
                      bytes.front() == static_cast<std::byte>(received[from]) &&
                      bytes.back() == static_cast<std::byte>(from);
      ++received[from];
    });
    world.link.on_packet(PacketKind::relay, [&](std::uint32_t from, auto) {
      is_order_kept = is_order_kept && received[from] == pieces;
      ++ended;
    });
    int made = 0;
    world.link.stream(0, PacketKind::exchange, [&](std::span<std::byte> room) -> std::size_t {
      if (made == pieces) {
        world.link.send(0, PacketKind::relay, {});
        return 0;
      }
      room.front() = static_cast<std::byte>(made++);
      room.back() = static_cast<std::byte>(rank);
      return room.size();
    });
    world.poll_until([&] { return rank != 0 || ended == size; });
    CHECK(is_order_kept);
    if (rank == 0) {
      for (const int count : received) CHECK(count == pieces);
    }
  }
}
