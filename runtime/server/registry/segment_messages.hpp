#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "registry_outlet.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/runtime/node_map.hpp"
#include "step_notes.hpp"

namespace sluice::runtime {

/// The segments of all matchers, for the registry: each order is a message to the matcher that owns the
/// segment.
class SegmentMessages final : public matcher::SegmentMemory {
 public:
  /// All must outlive this object. `notes` hears of logs.
  SegmentMessages(const NodeMap& nodes, RegistryOutlet& outlet, StepNotes& notes)
      : nodes_(nodes), outlet_(outlet), notes_(notes) {}

  /// Nobody is left to receive messages.
  void stop() noexcept { is_stopped_ = true; }

  void create(matcher::SegmentId segment, std::uint64_t bytes) override;
  [[nodiscard]] bool create_spilled(matcher::SegmentId segment, std::uint64_t bytes,
                                    matcher::DiskRoom room) override;
  void drop_warm(matcher::MatcherPlace matcher) noexcept override;
  void create_image(matcher::SegmentId segment, std::uint64_t bytes) override;
  [[nodiscard]] bool create_spilled_image(matcher::SegmentId segment, std::uint64_t bytes,
                                          matcher::DiskRoom room) override;
  void create_logged(matcher::SegmentId segment, std::uint64_t bytes,
                     const matcher::LogPlace& place) override;
  void keep_log(matcher::SegmentId segment, bool is_kept) noexcept override;
  void clear(matcher::SegmentId segment, matcher::SegmentUse use) override;
  bool destroy(matcher::SegmentId segment) noexcept override;
  [[nodiscard]] std::span<const std::byte> contents(matcher::SegmentId segment) override;
  void mark_gone(matcher::SegmentId control, std::uint32_t rank) noexcept override;

 private:
  void send_to_owner(matcher::SegmentId segment, MatcherBody body);

  const NodeMap& nodes_;
  RegistryOutlet& outlet_;
  StepNotes& notes_;
  bool is_stopped_ = false;
};

}  // namespace sluice::runtime
