#pragma once
#include <bitset>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "exchange_protocol.hpp"
#include "fetch_host.hpp"
#include "inbound_stage.hpp"
#include "sluice/runtime/peer_link.hpp"
#include "spec_cache.hpp"

namespace sluice::runtime {

/// The current fetches of this matcher: parts from other nodes arrive directly in the segments that were
/// leased for them. Channels and a limit restrict the number of fetches at a time; other fetches wait for
/// their turn.
class FetchClient {
 public:
  using PartId = InboundStage::PartId;

  /// Receives a report for each requested part, unless the part's step is forgotten before.
  class Receiver {
   public:
    virtual void land_part(std::uint64_t step, PartId part) = 0;
    virtual void fail_part(std::uint64_t step, PartId part, const Outcome& outcome) = 0;

   protected:
    ~Receiver() = default;
  };

  /// All arguments must outlive this object. `sent`: the parts that other matchers know by name.
  FetchClient(FetchHost& host, SentSpecs& sent, Receiver& receiver)
      : host_(host), sent_specs_(sent), receiver_(receiver) {}

  struct Part {
    PartId id = 0;
    FetchSpecPointer wanted;
    matcher::LogRange range;  ///< the place where it arrives
  };
  /// Fetches parts from one matcher. Throws Error(NC_EIO) when a segment does not exist.
  void fetch(std::uint64_t step, matcher::MatcherPlace source, std::span<const Part> parts);
  /// Another matcher reports why pieces came without their data.
  void take_failure(const FetchFailed& failure);
  /// The step has ended. Data under way still arrives; the memory is not lent to others before that.
  void forget(std::uint64_t step);

  /// Whether data of an ended step may still arrive in a segment.
  [[nodiscard]] bool is_receiving_into(matcher::SegmentId segment) const;
  [[nodiscard]] bool is_expecting() const noexcept { return !fetches_.empty(); }
  /// Bytes received so far.
  [[nodiscard]] std::uint64_t landed_bytes() const noexcept { return landed_bytes_; }

 private:
  /// Parts that arrive side by side.
  struct Run {
    std::vector<Part> parts;
    matcher::SegmentId segment = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t part_bytes = 0;      ///< without the gaps between them
    std::uint64_t expected_bytes = 0;  ///< bytes whose places have been named
    std::uint64_t landed_bytes = 0;    ///< bytes whose pieces have arrived
    bool is_short = false;             ///< a piece came without its data
    std::span<std::byte> memory;
  };
  /// Parts that are requested together from one matcher. Every requested piece arrives, possibly empty.
  /// Nothing is therefore written to a place after the end of the fetch.
  struct Fetching {
    std::uint64_t step = 0;
    matcher::MatcherPlace source;
    std::deque<Run> runs;  ///< a deque, because an arrival may add waiting runs
    std::uint32_t channel = 0;
    bool is_started = false;  ///< it has a channel
    std::size_t next_run = 0;
    std::size_t expected_pieces = 0;
    std::optional<FetchFailed> failure;  ///< why pieces came without their data
    SentSpecs::Form form = SentSpecs::Form::shortest;
    bool is_over = false;  ///< the step has ended

    [[nodiscard]] bool has_come() const;
  };

  [[nodiscard]] std::deque<Run> runs_of(std::span<const Part> parts);
  void start_fetches();
  [[nodiscard]] bool start_fetch(std::uint64_t id, Fetching& fetching);
  void expect_more(std::uint64_t id, Fetching& fetching);
  void take_piece(std::uint64_t id, std::size_t run, std::size_t expected_bytes, std::size_t bytes);
  void settle(std::uint64_t id);
  void fail(const Fetching& fetching);
  void fetch_again(Fetching fetching);

  /// Limit of current fetches from one matcher, and from all together.
  static constexpr std::uint32_t most_fetches_of_source = 32;
  static constexpr std::size_t most_fetches = 256;
  /// Limit of pieces of a fetch whose places are named ahead.
  static constexpr std::size_t most_expected_pieces = PeerLink::window_bytes / PeerLink::max_data_piece_bytes;
  static_assert(most_fetches_of_source <= PieceTransport::channels);

  FetchHost& host_;
  SentSpecs& sent_specs_;
  Receiver& receiver_;
  std::map<std::uint64_t, Fetching> fetches_;
  std::deque<std::uint64_t> waiting_;  ///< fetches that have no channel yet
  std::size_t under_way_ = 0;
  std::map<matcher::MatcherPlace, std::bitset<most_fetches_of_source>> used_channels_;
  std::uint64_t next_fetch_ = 1;
  std::uint64_t landed_bytes_ = 0;
};

/// The offset where the next part of a run begins.
[[nodiscard]] constexpr std::uint64_t aligned_inbound(std::uint64_t offset) noexcept {
  return (offset + inbound_alignment - 1) / inbound_alignment * inbound_alignment;
}

}  // namespace sluice::runtime
