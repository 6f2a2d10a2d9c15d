#pragma once
#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "exchange_protocol.hpp"
#include "known_parts.hpp"
#include "landing.hpp"
#include "match_exchange.hpp"
#include "sluice/matcher/table_scan.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

/// A get whose data is on this node: its plans read it from the parts, and from logs whose data is here
/// anyway.
using LandReceiver =
    std::function<void(const Outcome& outcome, MatchedGet matched, const std::vector<LandingPart>& landed)>;

/// Moves data between matchers that have no memory in common: docs/architecture.md, "Many matchers, many
/// nodes". A matcher fetches what plans read from the matchers that have the logs, each byte once in a step,
/// into segments of its own; who needs what is under way waits for it. What several matchers of a node may
/// need is fetched by one of them, which tells the others where it is. One thread.
///
/// node_exchange.cpp: which parts are needed; fetches.cpp: how they come; node_neighbours.cpp: what matchers
/// of the node ask of each other; fetched_data.cpp: what is sent to other nodes.
class NodeExchange {
 public:
  /// A connection whose get waits: of this matcher, or of another of its node.
  struct Reader {
    std::uint32_t matcher = 0;     ///< rank
    std::uint64_t connection = 0;  ///< 0: nobody
  };

  /// At least `bytes`, better so many as are wanted.
  struct LeaseRequest {
    std::uint64_t step = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wanted_bytes = 0;
    bool is_ahead = false;  ///< nobody waits for it yet
    Reader reader;          ///< whose get waits for it
  };

  using LeaseReceiver = std::function<void(const Outcome& outcome, const matcher::LogSegment& segment)>;

  struct Environment {
    matcher::MatcherPlace place;
    std::uint32_t matchers_of_node = 1;
    std::function<std::uint32_t(matcher::MatcherPlace place)> rank_of;
    matcher::SegmentMemory* memory = nullptr;  ///< of this matcher's segments
    /// Where a landing segment can be written to; empty when there is no such segment any more.
    std::function<std::span<std::byte>(matcher::SegmentId segment)> landing_memory;
    std::function<void(std::uint32_t to, std::vector<std::byte> packet)> send;
    std::function<void(PeerLink::DataRoute to, PeerLink::DataSource source)> send_data;
    std::function<void(PeerLink::DataRoute from, std::span<std::byte> place, PeerLink::Landed landed)>
        expect_data;
    /// Keeps a segment's memory mapped as long as the result lives, whatever becomes of the segment.
    std::function<std::shared_ptr<const void>(matcher::SegmentId segment)> keep_mapped;
    /// is_receiving_into() has become false for some segments.
    std::function<void()> on_release;
    std::function<void(std::uint64_t step, ViewReceiver receiver)> view;
    /// Gives a segment of this matcher that belongs to the step, at once or later.
    std::function<void(const LeaseRequest& request, LeaseReceiver receiver)> lease;
    /// A get of another connection on the step waits until that lease is there.
    std::function<void(std::uint64_t step, const Reader& reader)> join_lease;
  };

  explicit NodeExchange(Environment environment);
  ~NodeExchange();
  NodeExchange(const NodeExchange&) = delete;
  NodeExchange& operator=(const NodeExchange&) = delete;

  /// Brings here what the plans of a get of that connection read elsewhere. The receiver is called once, at
  /// once or later.
  void land(MatchedGet matched, LandReceiver receiver, std::uint64_t reader = 0);
  /// Brings here what was wanted of an earlier step of the same pattern, as far as this step has it. Nothing
  /// of it need come: who reads what has not landed fetches it.
  void fetch_ahead(const StepViewPointer& view, std::vector<WantedPartPointer> wanted);
  /// Calls `then` when everything that is fetched ahead for the step has landed, or does not come: at once or
  /// later.
  void when_ahead(std::uint64_t step, std::function<void()> then);
  /// Where what was wanted is, as far as it has landed.
  [[nodiscard]] std::vector<matcher::LogRange> landed(std::uint64_t step,
                                                      std::span<const WantedPartPointer> wanted) const;

  /// A packet of one of the kinds that move data. Throws Error(NC_EIO) when it is damaged.
  void take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields);
  /// The step is no more, and the segments that were leased for it belong to others as soon as nothing is
  /// received into them any more.
  void forget(std::uint64_t step);
  /// Whether data of a step that is no more may still come into a segment: until then it stays what it is.
  [[nodiscard]] bool is_receiving_into(matcher::SegmentId segment) const;
  /// Whether anything is expected of other matchers. After forget_all() that ends by itself.
  [[nodiscard]] bool is_expecting() const noexcept { return !fetching_.empty(); }
  /// At the end of the run.
  void forget_all();

  /// Bytes that came from other nodes.
  [[nodiscard]] std::uint64_t landed_bytes() const noexcept { return landed_bytes_; }

 private:
  struct Waiting;
  struct Step;
  struct Fetching;
  struct Asking;
  struct Sending;
  using SendingPointer = std::shared_ptr<Sending>;  ///< shared with the link while it is sent
  using WaitingPointer = std::shared_ptr<Waiting>;  ///< shared by the parts that it waits for

  using ScanPointer = std::shared_ptr<matcher::TableScan>;  ///< shared with what is being sent

  [[nodiscard]] ScanPointer scan_of(const matcher::StepView& view);
  [[nodiscard]] Step& step_of(const StepViewPointer& view);
  void enqueue(Step& step, WaitingPointer waiting);
  void start_next(Step& step);
  [[nodiscard]] Landing::SourceOf source_of(const Waiting& waiting) const;
  void find_parts(Step& step, Waiting& waiting);
  void place_parts(Step& step, WaitingPointer waiting, std::deque<Landing::PartId> parts);
  void lease_for(Step& step, const WaitingPointer& waiting, std::deque<Landing::PartId> parts);
  void get_parts(Step& step, const WaitingPointer& waiting);
  void fetch_parts(Step& step, matcher::MatcherPlace source, const std::vector<Landing::PartId>& parts);
  void finish(Waiting& waiting);
  void count_down(Waiting& waiting);
  void land_part(std::uint64_t step, Landing::PartId part);
  void fail_part(Step& step, Landing::PartId part, const Outcome& outcome);

  // fetches.cpp
  [[nodiscard]] Fetching fetching_of(Step& step, matcher::MatcherPlace source,
                                     const std::vector<Landing::PartId>& parts);
  void start_fetches();
  [[nodiscard]] bool start_fetch(std::uint64_t id, Fetching& fetching);
  void expect_more(std::uint64_t id, Fetching& fetching);
  void take_piece(std::uint64_t id, std::size_t run, std::size_t expected_bytes, std::size_t bytes);
  void take_failure(const FetchFailed& failure);
  void settle(std::uint64_t id);
  void fail(const Fetching& fetching);
  void fetch_again(Fetching fetching);
  void end_fetches_of(std::uint64_t step);

  [[nodiscard]] bool is_own(const LandingPart& part) const noexcept {
    return part.bringer == environment_.place.index;
  }
  void ask_neighbour(Step& step, std::uint32_t neighbour, const WaitingPointer& waiting,
                     const std::vector<Landing::PartId>& parts,
                     ToldParts::Form form = ToldParts::Form::shortest);
  void answer_bring(std::uint32_t from, const Bring& request);
  void bring(std::uint32_t from, const Bring& request, const StepViewPointer& view);
  [[nodiscard]] Brought brought(std::uint64_t step, const std::vector<WantedPartPointer>& wanted) const;
  void take_brought(Brought brought);
  void ask_again(Step& step, const Asking& asking);
  void give_up_asking(Step& step, Waiting& waiting, const std::vector<Landing::PartId>& parts);

  void answer_fetch(std::uint32_t to, const Fetch& request);
  void start_sending(const SendingPointer& sending);
  [[nodiscard]] PeerLink::Data next_data(Sending& sending, std::span<std::byte> room);
  void end_fetch(std::uint32_t to, const FetchOver& notice);

  /// Fetches under way of one matcher, and of all together; others wait for their turn.
  static constexpr std::uint32_t most_fetches_of_source = 32;
  static constexpr std::size_t most_fetches = 256;
  /// Pieces of a fetch whose places are named ahead.
  static constexpr std::size_t most_expected_pieces = PeerLink::window_bytes / PeerLink::max_data_piece_bytes;
  static_assert(most_fetches_of_source <= PieceTransport::channels);

  Environment environment_;
  std::map<std::uint64_t, std::unique_ptr<Step>> steps_;
  std::map<std::uint64_t, Fetching> fetching_;
  std::deque<std::uint64_t> waiting_fetches_;  ///< that have no channel yet
  std::size_t fetches_under_way_ = 0;
  std::map<matcher::MatcherPlace, std::bitset<most_fetches_of_source>> used_channels_;
  /// By who asked, and the number of the fetch.
  std::map<std::pair<std::uint32_t, std::uint64_t>, SendingPointer> sending_;
  std::map<std::uint64_t, Asking> asking_;  ///< of other matchers of the node, by ticket
  std::map<std::uint64_t, ScanPointer>
      growing_;  ///< by step: where the data is of logs that are still written
  std::uint64_t next_fetch_ = 1;
  std::uint64_t next_ticket_ = 1;
  std::uint64_t landed_bytes_ = 0;
  KnownParts known_parts_;
  ToldParts told_parts_;
};

}  // namespace sluice::runtime
