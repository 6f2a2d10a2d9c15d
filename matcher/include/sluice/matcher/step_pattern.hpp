#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/hyperslab.hpp"
#include "sluice/matcher/fingerprint.hpp"
#include "sluice/matcher/log_extent.hpp"

namespace sluice::matcher {

/// What plans depend on in a header: types and shapes of all variables, the record dimension's length left
/// out.
[[nodiscard]] Fingerprint structure_of(const formats::Header& header);

/// What the boxes of one access are, for fingerprints: independent of which record is the first one.
struct BoxesSummary {
  Fingerprint boxes;               ///< of record variables, first indexes count from lowest_record
  std::int64_t lowest_record = 0;  ///< 0 for fixed variables
  std::int64_t records_end = 0;    ///< 1 + the last record of boxes that have elements; 0: none
  /// Of boxes that have elements, per dimension: where they are. Empty when there is none, or no dimension.
  boost::container::small_vector<IndexRange, 4> ranges;
  bool has_elements = false;
};

/// `has_records`: the first dimension is the record dimension.
[[nodiscard]] BoxesSummary summarize(std::span<const formats::HyperslabView> boxes, bool has_records);

/// Remembers summaries of lists that several accesses of one call share.
class BoxesSummaries {
 public:
  [[nodiscard]] const BoxesSummary& of(std::span<const formats::HyperslabView> boxes, bool has_records);
  /// The lists that were summarized may go.
  void clear() noexcept { known_.clear(); }

 private:
  struct Known {
    const formats::HyperslabView* first = nullptr;
    std::size_t boxes = 0;
    bool has_records = false;
    BoxesSummary summary;
  };
  std::vector<Known> known_;  ///< few; the last is of the last access
};

/// What one process wrote in one step, as far as plans depend on it: its requests in their order, with where
/// their data is in the log. First indexes of record variables count from `base_record`, the number of
/// records that the file had when the step began.
struct LogPattern {
  Fingerprint requests;
  std::int64_t base_record = 0;
  std::int64_t records_end = 0;     ///< 1 + the last record written; 0: none
  bool reaches_below_base = false;  ///< a record below the base was written
  LogExtent extent;
  std::uint64_t last_put = 0;  ///< the time of the last request: no part of what is compared
};

/// Gathers a LogPattern from the requests as they are made.
class LogPatternBuilder {
 public:
  /// `first_offset`: where the log begins, if it goes on in that of an earlier step.
  explicit LogPatternBuilder(std::int64_t base_record, std::uint64_t first_offset = 0) noexcept
      : first_offset_(first_offset) {
    pattern_.base_record = base_record;
    pattern_.extent.is_known = true;
  }

  /// The requests of one access or (`is_fill`) a fill.
  struct Request {
    int varid = -1;
    bool has_records = false;  ///< the variable's first dimension is the record dimension
    bool is_fill = false;
    std::uint64_t log_offset = 0;  ///< of the first; the data of the others follows
    std::span<const int> dimids;   ///< of the variable
  };
  void add(const Request& request, const BoxesSummary& boxes);
  /// Makes the pattern one that no other log has, because requests may be missing in it. `unique`: a random
  /// number.
  void spoil(std::uint64_t unique) noexcept {
    requests_.add(unique, ~unique);
    pattern_.extent.is_known = false;
  }

  [[nodiscard]] LogPattern pattern() const;

 private:
  FingerprintBuilder requests_;
  LogPattern pattern_;
  std::uint64_t first_offset_ = 0;
};

/// What the plans of a step depend on. Two steps with the same pattern have the same plans for the same
/// reads: docs/architecture.md, "Replay".
struct StepPattern {
  Fingerprint whole;   ///< for all reads; empty: not known, nothing can be replayed
  Fingerprint latest;  ///< for reads of records from the base on; empty when these are not apart
  std::int64_t base_record = 0;
  std::uint32_t first_writer = 0;  ///< of the logs that this step added
  /// When the step began: no put of the logs before was later, by whatever node's clock. What this step adds
  /// has to be.
  std::uint64_t last_put = 0;
};

}  // namespace sluice::matcher
