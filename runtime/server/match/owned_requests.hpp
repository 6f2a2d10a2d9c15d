#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "exchange_protocol.hpp"
#include "sluice/matcher/step_partition.hpp"
#include "sluice/matcher/variable_indexes.hpp"
#include "sluice/replay/plan.hpp"

namespace sluice::runtime {

/// The write requests that overlap one matcher's part of a step, and plans for reads of that part.
class OwnedRequests {
 public:
  explicit OwnedRequests(const formats::Header& header) : indexes_(header) {}

  /// Whether requests may be of variables that were defined after the header was asked for. Such requests are
  /// left out: the index is made anew with the next header.
  enum class Newer : std::uint8_t { is_damage, is_left_out };
  /// Adds requests from other matchers, with writers in ascending order. Throws Error(NC_EIO) when they are
  /// damaged or do not fit the header.
  void add(std::span<const WriterRequests> writers, Newer newer = Newer::is_damage);

  /// The plans for the parts of accesses that `self` owns. Accesses that read the same list of variables with
  /// the same index share a plan. Throws Error(NC_EIO).
  [[nodiscard]] MatchedParts plan_parts(const matcher::StepPartition& partition, std::uint32_t self,
                                        const MatchParts& request);
  /// The plan of a whole access; this matcher must have every part. Throws Error(NC_EIO).
  [[nodiscard]] replay::Plan plan(int varid, std::span<const formats::HyperslabView> reads);
  /// Whether all elements of the reads were put; a fill is not a put. Throws Error(NC_EIO).
  [[nodiscard]] bool are_put(int varid, std::span<const formats::HyperslabView> reads);
  /// The end of the written records.
  [[nodiscard]] std::int64_t records_end() const noexcept { return indexes_.records_end(); }

 private:
  [[nodiscard]] replay::Plan plan_part(const matcher::Ownership& ownership, std::uint32_t self, int varid,
                                       std::span<const std::byte> reads);

  matcher::VariableIndexes indexes_;
};

}  // namespace sluice::runtime
