#pragma once
// Packets that tell their sender, number and length, and a receiver that checks them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime::test {

/// The `number`th packet from `from`: the number, then bytes that depend on both.
inline std::vector<std::byte> numbered_packet(std::uint32_t from, std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> packet(sizeof number + bytes);
  std::memcpy(packet.data(), &number, sizeof number);
  for (std::size_t i = 0; i < bytes; ++i) {
    packet[sizeof number + i] = static_cast<std::byte>(from * 31 + number * 7 + i);
  }
  return packet;
}

/// Counts the packets from each rank, and reports errors.
class NumberedReceiver {
 public:
  explicit NumberedReceiver(std::uint32_t size) : received_(size, 0) {}

  void take(std::uint32_t from, std::span<const std::byte> packet) {
    const std::uint64_t expected = received_.at(from)++;
    const auto whole = numbered_packet(from, expected, packet.size() - sizeof expected);
    if (!std::equal(whole.begin(), whole.end(), packet.begin(), packet.end()) && trouble_.empty()) {
      trouble_ = "packet " + std::to_string(expected) + " from " + std::to_string(from) + " is another";
    }
  }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] std::uint64_t received_from(std::uint32_t rank) const { return received_.at(rank); }

 private:
  std::vector<std::uint64_t> received_;
  std::string trouble_;
};

/// Mostly short; some packets have several pieces.
inline std::size_t random_length(std::mt19937_64& random) {
  const std::uint64_t kind = random() % 20;
  if (kind == 0) return random() % (3U << 20);
  if (kind == 1) return PeerLink::max_packet_piece_bytes - sizeof(std::uint64_t);
  return random() % 300;
}

}  // namespace sluice::runtime::test
