#pragma once
// What NodeExchange keeps, for the files that implement it.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "node_exchange.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

/// A get that waits for parts; or what is fetched ahead, or for another matcher of the node.
struct NodeExchange::Waiting {
  MatchedGet matched;
  std::vector<WantedPartPointer> wanted;  ///< instead of what plans need
  bool is_ahead = false;                  ///< nobody waits for it yet
  LandReceiver receiver;
  Reader reader;
  Landing::PartIds needed;
  std::size_t missing = 0;
  Outcome outcome;

  [[nodiscard]] bool is_for_neighbour(std::uint32_t own_rank) const noexcept {
    return reader.matcher != own_rank;
  }
};

struct NodeExchange::Step {
  Step(const StepViewPointer& known, std::uint32_t matchers)
      : id(known->step), landing(static_cast<std::uint32_t>(known->first_own_log), matchers) {}
  std::uint64_t id;
  Landing landing;
  matcher::LogSegment segment;  ///< that the next parts land in
  std::uint64_t segment_used = 0;
  std::deque<WaitingPointer> queue;  ///< gets whose parts have no places yet; the first is being served
  bool is_leasing = false;           ///< it waits for a segment
  std::map<Landing::PartId, std::vector<WaitingPointer>> waiting;
  bool is_fetching_ahead = false;
  std::vector<std::function<void()>> after_ahead;
};

/// Parts on their way from one matcher, in the order in which they come.
struct NodeExchange::Fetching {
  std::uint64_t step = 0;
  std::deque<Landing::PartId> parts;
  std::uint64_t landed = 0;  ///< bytes of the first of them
};

/// Parts that another matcher of the node was asked for.
struct NodeExchange::Asking {
  std::uint64_t step = 0;
  WaitingPointer waiting;  ///< for whom
  std::vector<Landing::PartId> parts;
};

template <class Message>
std::vector<std::byte> packet_of(ExchangePacket kind, const Message& message) {
  std::vector<std::byte> packet{static_cast<std::byte>(kind)};
  const std::vector<std::byte> fields = encode(message);
  packet.insert(packet.end(), fields.begin(), fields.end());
  return packet;
}

}  // namespace sluice::runtime
