#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>

#include "segment_grants.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Requests for memory or disk space, and the waits for them.
class MemoryWaits {
 public:
  explicit MemoryWaits(RegistryParts& parts) : parts_(parts) {}

  /// As in Registry; return whether the process now waits.
  [[nodiscard]] bool need_segment(const Ticket& ticket, const Process& caller, const SegmentRequest& request);
  /// Serves the first of the callers, as far as each gets a segment again that it has mapped. Returns how
  /// many these are.
  [[nodiscard]] std::size_t grant_again(std::span<const Caller> callers, const SegmentRequest& request);
  [[nodiscard]] bool await_disk(const Ticket& ticket, const Process& caller, DiskRequest request);
  [[nodiscard]] bool lease_inbound(const Ticket& ticket, StepId id, MatcherPlace place,
                                   const InboundSize& size, std::optional<InboundReader> reader);
  [[nodiscard]] bool join_inbound_wait(StepId id, MatcherPlace place, const InboundReader& reader);
  /// Another process of the node waits for the same image.
  [[nodiscard]] bool join_image_wait(StepId id, std::uint32_t node, const InboundReader& reader);

  /// Answers the requests that can be served now.
  void settle();
  /// As Registry::spill_made(). Returns false when no request waits for the segment any more.
  [[nodiscard]] bool spill_made(SegmentId segment, const std::string& trouble);
  /// The process has ended.
  void drop_of(const Process& process);
  /// The step has ended.
  void drop_on(const Step& step, const std::string& reason);
  /// No process reads the step any more.
  void drop_inbound_on(const Step& step);
  /// Refuses one of all(), because it can never be served. An image is granted beyond the limit instead.
  void fail(const MemoryWait& wait, const std::string& text);

  [[nodiscard]] const std::list<MemoryWait>& all() const noexcept { return waits_; }

 private:
  [[nodiscard]] bool join(const InboundReader& reader,
                          const std::function<bool(const MemoryWait&)>& is_meant);
  [[nodiscard]] bool serve(MemoryWait&& wait);
  void begin_wait(const MemoryWait& wait, const InboundReader& waiter);
  void end_wait(const MemoryWait& wait);

  RegistryParts& parts_;
  std::list<MemoryWait> waits_;
};

}  // namespace sluice::matcher
