#pragma once
// What NodeExchange keeps, for the files that implement it.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
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

/// Where the next part of a run lands.
[[nodiscard]] constexpr std::uint64_t aligned_landing(std::uint64_t offset) noexcept {
  return (offset + landing_alignment - 1) / landing_alignment * landing_alignment;
}

/// Parts that one matcher is asked for together. Every piece that was asked for comes, if only as nothing: so
/// nothing is ever written into a place behind the end of this.
struct NodeExchange::Fetching {
  /// What lands side by side.
  struct Run {
    std::vector<Landing::PartId> parts;
    matcher::SegmentId segment = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t part_bytes = 0;      ///< without what is between them
    std::uint64_t expected_bytes = 0;  ///< of which places have been named
    std::uint64_t landed_bytes = 0;    ///< whose pieces have come
    bool is_short = false;             ///< a piece came without its data
    std::span<std::byte> memory;
  };
  std::uint64_t step = 0;
  matcher::MatcherPlace source;
  std::deque<Run> runs;  ///< a deque, because what lands may make others wait
  std::uint32_t channel = 0;
  bool is_started = false;  ///< it has a channel
  std::size_t next_run = 0;
  std::size_t expected_pieces = 0;
  std::optional<FetchFailed> failure;  ///< why pieces came without their data
  ToldParts::Form form = ToldParts::Form::shortest;
  bool is_over = false;  ///< the step is no more

  [[nodiscard]] bool has_come() const;
};

/// Parts that another matcher of the node was asked for.
struct NodeExchange::Asking {
  std::uint64_t step = 0;
  std::uint32_t neighbour = 0;
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
