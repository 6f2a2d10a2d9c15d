#pragma once
// The state of RemoteFetcher, for the files that implement it.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "remote_fetcher.hpp"

namespace sluice::runtime {

/// A user that waits for parts: a get, a fetch ahead, or another matcher of the node.
struct RemoteFetcher::Waiting {
  MatchedGet matched;
  std::vector<FetchSpecPointer> wanted;  ///< used instead of the plans' needs
  bool is_ahead = false;                 ///< no get waits for the data yet
  LandReceiver receiver;
  FetchReader reader;
  InboundStage::PartIds needed;
  std::size_t missing = 0;
  Outcome outcome;

  [[nodiscard]] bool is_for_neighbour(std::uint32_t own_rank) const noexcept {
    return reader.matcher != own_rank;
  }
};

struct RemoteFetcher::Step {
  Step(const StepViewPointer& known, std::uint32_t matchers)
      : id(known->step), inbound(static_cast<std::uint32_t>(known->first_own_log), matchers) {}
  std::uint64_t id;
  InboundStage inbound;
  matcher::LogSegment segment;  ///< the segment for the next parts
  std::uint64_t segment_used = 0;
  std::deque<WaitingPointer> queue;  ///< users whose parts have no places yet; the first one is being served
  bool is_leasing = false;           ///< a lease of a segment is under way
  std::map<InboundStage::PartId, std::vector<WaitingPointer>> waiting;
  bool is_fetching_ahead = false;
  std::vector<std::function<void()>> after_ahead;
};

/// Parts that were requested from another matcher of the node.
struct RemoteFetcher::Asking {
  std::uint64_t step = 0;
  std::uint32_t neighbour = 0;
  WaitingPointer waiting;  ///< the user that waits for them
  std::vector<InboundStage::PartId> parts;
};

}  // namespace sluice::runtime
