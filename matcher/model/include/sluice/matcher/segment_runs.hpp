#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/segment_row.hpp"

namespace sluice::matcher {

/// Segments in use. Those of one size whose ids follow one another at equal distances are one entry, so the
/// segments of many processes take little room. The destructor returns them to their pools.
class SegmentRuns {
 public:
  struct Run {
    SegmentPool* pool = nullptr;
    SegmentRow row;
    std::uint64_t bytes = 0;          ///< of each
    std::uint64_t charged_bytes = 0;  ///< of each: SegmentLease::charged_bytes
  };

  SegmentRuns() = default;
  ~SegmentRuns();
  SegmentRuns(SegmentRuns&& other) noexcept : runs_(std::exchange(other.runs_, {})) {}
  SegmentRuns& operator=(SegmentRuns&& other) noexcept {
    std::swap(runs_, other.runs_);
    return *this;
  }

  /// The lease must not be empty.
  void add(SegmentLease&& lease);
  /// Adds all of the other one, which has none then.
  void append(SegmentRuns&& other);
  /// All of them, in the order in which they were added. None is left.
  [[nodiscard]] std::vector<SegmentLease> take();
  [[nodiscard]] const std::vector<Run>& runs() const noexcept { return runs_; }

 private:
  void add(const Run& run);
  [[nodiscard]] static SegmentLease lease_of(const Run& run, std::uint64_t number) noexcept;

  std::vector<Run> runs_;
};

}  // namespace sluice::matcher
