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

/// The properties of a header that plans depend on: types and shapes of all variables, without the record
/// dimension's length.
[[nodiscard]] Fingerprint structure_of(const formats::Header& header);

/// The boxes of one access, summarised for fingerprints: independent of the first record's number.
struct BoxesSummary {
  Fingerprint boxes;               ///< of record variables, first indexes count from lowest_record
  std::int64_t lowest_record = 0;  ///< 0 for fixed variables
  std::int64_t records_end = 0;    ///< 1 + the last record of boxes that have elements; 0: none
  /// For each dimension the range of the boxes that have elements. Empty when there is no such box, or no
  /// dimension.
  boost::container::small_vector<IndexRange, 4> ranges;
  bool has_elements = false;
};

/// `has_records`: the first dimension is the record dimension.
[[nodiscard]] BoxesSummary summarize(std::span<const formats::HyperslabView> boxes, bool has_records);

/// Keeps summaries of lists that several accesses of one call share.
class BoxesSummaries {
 public:
  [[nodiscard]] const BoxesSummary& of(std::span<const formats::HyperslabView> boxes, bool has_records);
  /// Forgets the summaries. Afterwards the lists may be destroyed.
  void clear() noexcept { known_.clear(); }

 private:
  struct Known {
    const formats::HyperslabView* first = nullptr;
    std::size_t boxes = 0;
    bool has_records = false;
    BoxesSummary summary;
  };
  std::vector<Known> known_;  ///< few; the last one is of the last access
};

/// The writes of one process in one step, as far as plans depend on them: its requests in their order, and
/// the positions of their data in the log. First indexes of record variables count from `base_record`, the
/// file's number of records when the step began.
struct LogPattern {
  Fingerprint requests;
  std::int64_t base_record = 0;
  std::int64_t records_end = 0;     ///< 1 + the last record written; 0: none
  bool reaches_below_base = false;  ///< the process wrote a record below the base
  std::uint64_t last_put = 0;       ///< time of the last request; not part of the comparison
};

/// Builds a LogPattern, and the extent of the puts, from the requests as they are made.
class LogPatternBuilder {
 public:
  /// `first_offset`: where the log begins, if it continues the log of an earlier step.
  explicit LogPatternBuilder(std::int64_t base_record, std::uint64_t first_offset = 0) noexcept
      : first_offset_(first_offset) {
    pattern_.base_record = base_record;
    extent_.is_known = true;
  }

  /// The requests of one access or (`is_fill`) a fill.
  struct Request {
    int varid = -1;
    bool has_records = false;  ///< the variable's first dimension is the record dimension
    bool is_fill = false;
    std::uint64_t log_offset = 0;  ///< of the first request; the data of the others follows
    std::span<const int> dimids;   ///< of the variable
  };
  void add(const Request& request, const BoxesSummary& boxes);
  /// Makes the pattern different from all others, because it may lack requests. `unique`: a random number.
  void spoil(std::uint64_t unique) noexcept {
    requests_.add(unique, ~unique);
    extent_.is_known = false;
  }

  [[nodiscard]] LogPattern pattern() const;
  [[nodiscard]] const LogExtent& extent() const noexcept { return extent_; }

 private:
  FingerprintBuilder requests_;
  LogPattern pattern_;
  LogExtent extent_;
  std::uint64_t first_offset_ = 0;
};

/// The properties of a step that its plans depend on. Two steps with the same pattern have the same plans for
/// the same reads: docs/design/replay-plans.md.
struct StepPattern {
  Fingerprint whole;  ///< for all reads; empty: not known, and nothing can be replayed
  /// for reads of records from the base on; empty when these records are not apart from earlier ones
  Fingerprint latest;
  std::int64_t base_record = 0;
  std::uint32_t first_writer = 0;  ///< of the logs that this step added
  /// When the step began: no put of the earlier logs has a later time, by any node's clock. Puts of this step
  /// must have later times.
  std::uint64_t last_put = 0;
};

/// Builds a pattern's fingerprints from the logs of the step's own processes.
class StepFingerprints {
 public:
  /// `structure`: of the header.
  explicit StepFingerprints(const Fingerprint& structure) noexcept;
  /// The step begins with the contents of another one, whose pattern is `earlier`: StepPattern::whole.
  /// `first_own`: the first of the step's own logs.
  void begin_with(const Fingerprint& earlier, std::size_t first_own) noexcept;
  /// The next log. `first_offset`: where its own data begins.
  void add(const LogPattern& log, std::uint64_t first_offset) noexcept;
  /// Sets the fingerprints; the rest of the pattern is as before. `is_apart`: own logs have no record below
  /// the base.
  void set(StepPattern& pattern, bool is_apart) const noexcept;

 private:
  FingerprintBuilder whole_;
  FingerprintBuilder latest_;
};

}  // namespace sluice::matcher
