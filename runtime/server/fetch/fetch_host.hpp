#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exchange_host.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

/// A connection whose get waits: of this matcher, or of another matcher of its node.
struct FetchReader {
  std::uint32_t matcher = 0;     ///< rank
  std::uint64_t connection = 0;  ///< 0: none
};

/// At least `bytes`, preferably as many as `wanted_bytes`.
struct LeaseRequest {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wanted_bytes = 0;
  bool is_ahead = false;  ///< no get waits for it yet
  FetchReader reader;     ///< the connection whose get waits for it
};

using LeaseReceiver = std::function<void(const Outcome& outcome, const matcher::LogSegment& segment)>;

/// Uses a part of some segments; the last part may be empty.
using SegmentUser = std::function<void(std::span<const matcher::SegmentId> part, bool is_last)>;

/// The further services that fetching needs: memory, and the link's data.
class FetchHost : public ExchangeHost {
 public:
  /// The memory of an inbound segment for writing; empty when the segment no longer exists.
  [[nodiscard]] virtual std::span<std::byte> inbound_memory(matcher::SegmentId segment) = 0;
  /// Keeps a segment's memory mapped as long as the result lives, even when the segment is destroyed.
  [[nodiscard]] virtual std::shared_ptr<const void> keep_mapped(matcher::SegmentId segment) = 0;
  /// Gives these segments of this matcher to `use` while their burst-buffer logs are open, at once or later.
  virtual void open(std::vector<matcher::SegmentId> segments, SegmentUser use) = 0;
  /// Provides a segment of this matcher for the step, at once or later.
  virtual void lease(const LeaseRequest& request, LeaseReceiver receiver) = 0;
  /// A get of another connection on the step waits for the same lease.
  virtual void join_lease(std::uint64_t step, const FetchReader& reader) = 0;
  /// No more data arrives in some segments that were leased for an ended step.
  virtual void on_release() = 0;
  virtual void send_data(PeerLink::DataRoute to, PeerLink::DataSource source) = 0;
  virtual void expect_data(PeerLink::DataRoute from, std::span<std::byte> place, PeerLink::Landed landed) = 0;
};

}  // namespace sluice::runtime
