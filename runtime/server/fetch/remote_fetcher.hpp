#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "distributed_matcher.hpp"
#include "exchange_protocol.hpp"
#include "fetch_client.hpp"
#include "fetch_host.hpp"
#include "fetch_server.hpp"
#include "inbound_stage.hpp"
#include "spec_cache.hpp"

namespace sluice::runtime {

/// Receives a get whose data is on this node. Its plans read the data from the parts, and from logs on this
/// node.
using LandReceiver =
    std::function<void(const Outcome& outcome, MatchedGet matched, const std::vector<InboundPart>& landed)>;

/// Moves data between matchers without common memory: docs/design/fetching.md. A matcher fetches
/// the data that plans read from the matchers that own the logs, into segments of its own. Each byte is
/// fetched once in a step; a get that needs data under way waits for it. Data that several matchers of a node
/// may need is fetched by one of them, which tells the others its position. One thread.
///
/// remote_fetcher.cpp: finds the needed parts and their places. node_neighbours.cpp: requests between
/// matchers of the node. fetch_client.hpp: receives parts. fetch_server.hpp: sends data to other nodes.
class RemoteFetcher final : private FetchClient::Receiver {
 public:
  /// The place of this matcher in its node.
  struct Seat {
    matcher::MatcherPlace place;
    std::uint32_t matchers_of_node = 1;
  };

  /// `memory` has this matcher's segments. Both must outlive this object.
  RemoteFetcher(FetchHost& host, matcher::SegmentMemory& memory, const Seat& seat);
  ~RemoteFetcher();
  RemoteFetcher(const RemoteFetcher&) = delete;
  RemoteFetcher& operator=(const RemoteFetcher&) = delete;

  /// Fetches the remote data that the plans of a get need. `reader`: the get's connection. The receiver is
  /// called once, at once or later.
  void land(MatchedGet matched, LandReceiver receiver, std::uint64_t reader = 0);
  /// Fetches the data that readers wanted in an earlier step of the same pattern, as far as this step has it.
  /// This is best effort: a reader fetches data that has not arrived.
  void fetch_ahead(const StepViewPointer& view, std::vector<FetchSpecPointer> wanted);
  /// Calls `then` when all data that is fetched ahead for the step has arrived or cannot come, at once or
  /// later.
  void when_ahead(std::uint64_t step, std::function<void()> then);
  /// The positions of the wanted data that has arrived.
  [[nodiscard]] std::vector<matcher::LogRange> landed(std::uint64_t step,
                                                      std::span<const FetchSpecPointer> wanted) const;

  /// Handles a packet of one of the kinds that move data. Throws Error(NC_EIO) when the packet is damaged.
  void take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields);
  /// The step has ended. Its leased segments are lent to others as soon as no more data arrives in them.
  void forget(std::uint64_t step);
  /// Whether data of an ended step may still arrive in a segment. The segment is not reused before.
  [[nodiscard]] bool is_receiving_into(matcher::SegmentId segment) const {
    return client_.is_receiving_into(segment);
  }
  /// Whether data or answers of other matchers are still to come. After forget_all() this becomes false by
  /// itself.
  [[nodiscard]] bool is_expecting() const noexcept { return client_.is_expecting(); }
  /// Called at the end of the run.
  void forget_all();

  /// Bytes received from other nodes.
  [[nodiscard]] std::uint64_t landed_bytes() const noexcept { return client_.landed_bytes(); }

 private:
  struct Waiting;
  struct Step;
  struct Asking;
  using WaitingPointer = std::shared_ptr<Waiting>;  ///< shared by the parts that it waits for

  [[nodiscard]] std::uint32_t own_rank() const { return host_.rank_of(seat_.place); }
  [[nodiscard]] Step& step_of(const StepViewPointer& view);
  void enqueue(Step& step, WaitingPointer waiting);
  void start_next(Step& step);
  [[nodiscard]] InboundStage::SourceOf source_of(const Waiting& waiting) const;
  void find_parts(Step& step, Waiting& waiting);
  void place_parts(Step& step, WaitingPointer waiting, std::deque<InboundStage::PartId> parts);
  void lease_for(Step& step, const WaitingPointer& waiting, std::deque<InboundStage::PartId> parts);
  void get_parts(Step& step, const WaitingPointer& waiting);
  void fetch_parts(Step& step, matcher::MatcherPlace source, const std::vector<InboundStage::PartId>& parts);
  void finish(Waiting& waiting);
  void count_down(Waiting& waiting);
  void land_part(std::uint64_t step, InboundStage::PartId part) override;
  void fail_part(std::uint64_t step, InboundStage::PartId part, const Outcome& outcome) override;

  // node_neighbours.cpp
  [[nodiscard]] bool is_own(const InboundPart& part) const noexcept {
    return part.node_fetcher == seat_.place.index;
  }
  void ask_neighbour(Step& step, std::uint32_t neighbour, const WaitingPointer& waiting,
                     const std::vector<InboundStage::PartId>& parts,
                     SentSpecs::Form form = SentSpecs::Form::shortest);
  void answer_bring(std::uint32_t from, const Bring& request);
  void bring(std::uint32_t from, const Bring& request, const StepViewPointer& view);
  [[nodiscard]] Brought brought(std::uint64_t step, const std::vector<FetchSpecPointer>& wanted) const;
  void take_brought(Brought brought);
  void ask_again(Step& step, const Asking& asking);
  void give_up_asking(Step& step, Waiting& waiting, const std::vector<InboundStage::PartId>& parts);

  FetchHost& host_;
  const Seat seat_;
  SpecCache known_specs_;  ///< parts that other matchers have requested from this one
  SentSpecs sent_specs_;   ///< parts that this matcher has requested from others
  FetchClient client_;
  FetchServer server_;
  std::map<std::uint64_t, std::unique_ptr<Step>> steps_;
  std::map<std::uint64_t, Asking> asking_;  ///< requests of other matchers of the node, by ticket
  std::uint64_t next_ticket_ = 1;
};

}  // namespace sluice::runtime
