#include "sluice/matcher/segment_runs.hpp"

#include <utility>

namespace sluice::matcher {

/// In reverse, because the pool lends first what came last: the first process then finds its segment at once.
SegmentRuns::~SegmentRuns() {
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    run->pool->give_back(run->row);
  }
}

SegmentLease SegmentRuns::lease_of(const Run& run, std::uint64_t number) noexcept {
  SegmentLease lease(run.pool, run.row.at(number), run.bytes);
  lease.charged_bytes_ = run.charged_bytes;
  return lease;
}

void SegmentRuns::add(SegmentLease&& lease) {
  add({std::exchange(lease.pool_, nullptr), {lease.id_}, lease.bytes_, lease.charged_bytes_});
}

void SegmentRuns::append(SegmentRuns&& other) {
  for (const Run& run : std::exchange(other.runs_, {})) add(run);
}

void SegmentRuns::add(const Run& run) {
  Run* const last = runs_.empty() ? nullptr : &runs_.back();
  const bool is_alike = last != nullptr && last->pool == run.pool && last->bytes == run.bytes &&
                        last->charged_bytes == run.charged_bytes;
  if (!is_alike || !last->row.extend(run.row)) runs_.push_back(run);
}

std::vector<SegmentLease> SegmentRuns::take() {
  std::vector<SegmentLease> leases;
  for (const Run& run : std::exchange(runs_, {})) {
    for (std::uint64_t i = 0; i < run.row.count; ++i) leases.push_back(lease_of(run, i));
  }
  return leases;
}

}  // namespace sluice::matcher
