#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "distributed_matcher.hpp"
#include "gets.hpp"
#include "memory_reads.hpp"
#include "remote_fetcher.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

/// Gets when there are other matchers: all matchers match them together, and data may come from other nodes.
class SharedGets final : private FetchHost {
 public:
  /// `files`: that are written on this matcher. `on_release` is called when is_receiving_into() has become
  /// false for some segments.
  SharedGets(GetParts parts, PeerLink& link, StepFiles& files, std::function<void()> on_release);
  SharedGets(const SharedGets&) = delete;
  SharedGets& operator=(const SharedGets&) = delete;

  void begin(WaitingGet waiting);
  /// Counts the records that the request tables of all matchers have. The step must be cached.
  using RecordReceiver = std::function<void(const Outcome& outcome, std::int64_t records)>;
  void count_records(matcher::StepId step, RecordReceiver receiver);
  /// Calls `then` when the data that is fetched ahead for the step has arrived or cannot come.
  void when_ahead(matcher::StepId step, std::function<void()> then) {
    moving_.when_ahead(step, std::move(then));
  }
  /// The data from other nodes that the process read in earlier steps of the pattern, as far as it has
  /// arrived.
  [[nodiscard]] std::vector<matcher::LogRange> landed_for(matcher::ProcessId process,
                                                          const matcher::StepView& view);
  /// Fetches at once what the readers of the last step of the pattern needed. The step must be published.
  void fetch_ahead(CachedStep& known);
  void forget(matcher::StepId step);

  /// To a LeaseQuery.
  void take(const Answer& answer);
  /// Whether data may still arrive in the segment. Until then the segment keeps its use.
  [[nodiscard]] bool is_receiving_into(matcher::SegmentId segment) const {
    return moving_.is_receiving_into(segment);
  }

  [[nodiscard]] std::uint64_t landed_bytes() const noexcept { return moving_.landed_bytes(); }
  /// At the end of the run: fetches end, and go on being expected until their pieces are here.
  void forget_all() {
    moving_.forget_all();
    reading_.forget_all();
  }
  [[nodiscard]] bool is_expecting() const noexcept {
    return moving_.is_expecting() || reading_.is_expecting();
  }
  /// Memory and files of other matchers, for images.
  [[nodiscard]] MemoryReads& reads() noexcept { return reading_; }

 private:
  // FetchHost
  [[nodiscard]] std::uint32_t rank_of(matcher::MatcherPlace place) const override;
  void send(std::uint32_t to, std::vector<std::byte> packet) override;
  void view(std::uint64_t step, ViewReceiver receiver) override;
  [[nodiscard]] std::span<std::byte> inbound_memory(matcher::SegmentId segment) override;
  [[nodiscard]] std::shared_ptr<const void> keep_mapped(matcher::SegmentId segment) override;
  void open(std::vector<matcher::SegmentId> segments, SegmentUser use) override;
  void lease(const LeaseRequest& request, LeaseReceiver receiver) override;
  void join_lease(std::uint64_t step, const FetchReader& reader) override;
  void on_release() override { on_release_(); }
  void send_data(PeerLink::DataRoute to, PeerLink::DataSource source) override;
  void expect_data(PeerLink::DataRoute from, std::span<std::byte> place, PeerLink::Landed landed) override;

  void take_packet(std::uint32_t from, std::span<const std::byte> packet);
  void land(ClientId id, std::uint32_t tag, MatchedGet matched);
  void with_known_connection(ClientId id, matcher::StepId step, std::function<void()> then);
  void answer_when_located(ClientId id, std::uint32_t tag, MatchedGet matched,
                           const std::vector<InboundPart>& landed, bool may_ask);
  [[nodiscard]] bool are_located(const MatchedGet& matched);
  [[nodiscard]] bool is_here(const matcher::StepView& view, std::uint32_t writer) const;
  [[nodiscard]] std::span<const LogRange> ranges_here(const matcher::StepView& view, std::uint32_t writer);
  void with_growing_ranges(const StepViewPointer& view, std::function<void()> then);
  void read_growing_ranges(CachedStep& known, const matcher::StepView& view);
  void answer(ClientId id, std::uint32_t tag, const MatchedGet& matched,
              const std::vector<InboundPart>& landed);
  [[nodiscard]] Plans plans_for(Client& client, const MatchedGet& matched,
                                const std::vector<InboundPart>& landed);

  GetParts parts_;
  PeerLink& link_;
  std::function<void()> on_release_;
  struct WaitingLease {
    std::uint64_t bytes = 0;  ///< at least
    LeaseReceiver receiver;
  };
  std::map<std::uint32_t, WaitingLease> waiting_leases_;  ///< by query number
  std::uint32_t next_query_ = 1;
  DistributedMatcher matching_;
  RemoteFetcher moving_;
  MemoryReads reading_;
};

}  // namespace sluice::runtime
