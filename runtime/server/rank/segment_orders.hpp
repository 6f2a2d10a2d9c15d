#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "client_segments.hpp"
#include "matcher_base.hpp"

namespace sluice::runtime {

/// Carries out the registry's orders for this matcher's memory and disk.
class SegmentOrders {
 public:
  SegmentOrders(MatcherBase& base, ClientSegments& segments) : base_(base), segments_(segments) {}

  // At matcher 0 these throw Error; then the registry refuses the request.
  void take(const CreateSegment& order);
  void take(const ClearSegment& order);
  void take(const DestroySegment& order);
  void take(const KeepLog& order) { base_.store.keep_log(order.segment, order.is_kept); }
  void take(const MarkGone& order) { base_.store.mark_gone(order.control, order.rank); }

  /// At the start of the run: sets the directory for segments on disk, and makes memory ahead.
  void start(const StartServing& start);
  void tell_of_warm_memory();

 private:
  void make(matcher::SegmentId segment, const std::function<void()>& make);
  void use_spill_directory(const std::string& directory);
  void find_spill_directory(const std::string& first_choice);
  void make_memory_ahead(std::uint64_t bytes);

  MatcherBase& base_;
  ClientSegments& segments_;
};

}  // namespace sluice::runtime
