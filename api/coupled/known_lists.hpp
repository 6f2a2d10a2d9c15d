#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "recent_slabs.hpp"
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::api {

/// The long lists of hyperslabs that a process named more than once, with the results of their checks and
/// their summaries. A program that accesses file after file with the same list has it compared number by
/// number, and neither checked nor hashed again. Safe for several threads. See docs/design/replay-plans.md.
class KnownLists {
 public:
  explicit KnownLists(std::size_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}

  /// The list that equals these arguments number by number and was checked against the same bounds. Its
  /// `list` is null if there is none.
  [[nodiscard]] CheckedList find(const VarnList& named, const ListBounds& bounds);
  /// Keeps a list that passed the checks and has no empty hyperslabs, if a similar one was passed before: a
  /// list that is named once costs no memory. The least recently used lists go when there are too many, or
  /// the limit is exceeded.
  void remember(std::span<const formats::HyperslabView> slabs, const CheckedList& checked);
  /// The summary of a list from find(), for a variable with or without records; null for any other list. The
  /// caller keeps the list alive.
  [[nodiscard]] std::shared_ptr<const matcher::BoxesSummary> summary_of(
      std::span<const formats::HyperslabView> slabs, bool has_records);

 private:
  struct Known {
    CheckedList checked;
    std::shared_ptr<const matcher::BoxesSummary> summary;  ///< shared with the calls that use it
    std::size_t bytes = 0;
  };
  /// What is kept of a list that was named once.
  struct Glimpse {
    std::size_t length = 0;
    ListBounds bounds;
    std::int64_t elements = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
    bool operator==(const Glimpse&) const = default;
  };
  [[nodiscard]] bool was_seen(const Glimpse& glimpse);

  const std::size_t limit_bytes_;
  std::mutex mutex_;
  std::vector<Known> lists_;  ///< the most recently used first
  std::size_t bytes_ = 0;
  std::array<Glimpse, 16> glimpses_;
  std::size_t oldest_ = 0;
};

/// The lists of this process.
[[nodiscard]] KnownLists& known_lists();

}  // namespace sluice::api
