#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "exchange_protocol.hpp"
#include "landing.hpp"
#include "match_exchange.hpp"
#include "sluice/matcher/table_scan.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

/// A get whose data is on this node: its plans read it from the ranges, and from logs whose data is here
/// anyway.
using LandReceiver = std::function<void(const Outcome& outcome, MatchedGet matched,
                                        const std::vector<matcher::LogRange>& landed)>;

/// Moves data between matchers that have no memory in common: docs/architecture.md, "Many matchers, many
/// nodes". A matcher fetches what its processes' plans read from the matchers that have the logs, each byte
/// once in a step, into segments of its own; who needs what is under way waits for it. One thread.
class NodeExchange {
 public:
  struct Environment {
    std::uint32_t rank = 0;
    /// The rank of the matcher that has a log's data; none when processes of this node can read it
    /// themselves.
    std::function<std::optional<std::uint32_t>(const matcher::LogView& log)> source_of;
    matcher::SegmentMemory* memory = nullptr;  ///< of this matcher's segments
    /// Where a landing segment can be written to; empty when there is no such segment any more.
    std::function<std::span<std::byte>(matcher::SegmentId segment)> landing_memory;
    std::function<void(std::uint32_t to, std::vector<std::byte> packet)> send;
    std::function<void(std::uint32_t to, PeerLink::Producer producer)> stream;
    std::function<void(std::uint64_t step, ViewReceiver receiver)> view;
    /// Gives a segment of at least `bytes` that belongs to the step, at once or later.
    std::function<void(std::uint64_t step, std::uint64_t bytes,
                       std::function<void(const Outcome&, const matcher::LogSegment&)> receiver)>
        lease;
  };

  explicit NodeExchange(Environment environment);
  ~NodeExchange();
  NodeExchange(const NodeExchange&) = delete;
  NodeExchange& operator=(const NodeExchange&) = delete;

  /// Brings here what the plans of a get read elsewhere. The receiver is called once, at once or later.
  void land(MatchedGet matched, LandReceiver receiver);
  /// A packet of one of the kinds that move data. Throws Error(NC_EIO) when it is damaged.
  void take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields);
  /// The step is no more, and the segments that were leased for it belong to others from now on.
  void forget(std::uint64_t step);

  /// Bytes that came from other matchers.
  [[nodiscard]] std::uint64_t landed_bytes() const noexcept { return landed_bytes_; }

 private:
  struct Waiting;
  struct Step;
  struct Fetching;
  struct Sending;
  using WaitingPointer = std::shared_ptr<Waiting>;  ///< shared by the parts that it waits for

  using ScanPointer = std::shared_ptr<matcher::TableScan>;  ///< shared with what is being sent
  struct Source {
    ScanPointer scan;
    bool is_final = false;  ///< the tables were read when they were complete
  };

  [[nodiscard]] ScanPointer scan_of(const matcher::StepView& view);
  void start_next(Step& step);
  void place_parts(Step& step, WaitingPointer waiting, std::deque<Landing::PartId> parts);
  void fetch_parts(Step& step, const WaitingPointer& waiting);
  void finish(Step& step, Waiting& waiting);
  void take_data(std::uint64_t fetch, std::span<const std::byte> bytes);
  void land_part(std::uint64_t step, Landing::PartId part);
  void take_failure(const FetchFailed& failure);
  void answer_fetch(std::uint32_t to, const Fetch& request);

  Environment environment_;
  std::map<std::uint64_t, std::unique_ptr<Step>> steps_;
  std::map<std::uint64_t, Fetching> fetching_;
  std::map<std::uint64_t, Source> sources_;  ///< by step
  std::uint64_t next_fetch_ = 1;
  std::uint64_t landed_bytes_ = 0;
};

}  // namespace sluice::runtime
