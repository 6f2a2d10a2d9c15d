#include "sluice/runtime/plan_cache.hpp"

#include <algorithm>
#include <utility>

namespace sluice::runtime {

RecordedPlan::RecordedPlan(replay::Plan made, std::uint32_t first_own_writer, std::size_t element_bytes)
    : plan(std::move(made)), first_writer(first_own_writer) {
  std::unordered_map<std::uint32_t, std::size_t> by_writer;
  for (const replay::Copy& copy : plan.copies) {
    if (copy.is_fill) continue;
    const auto [first, end] = replay::source_range(plan, copy, element_bytes);
    const auto [place, is_new] = by_writer.emplace(copy.writer, sources.size());
    if (is_new) sources.push_back({copy.writer, first, end});
    Source& source = sources[place->second];
    source.first = std::min(source.first, first);
    source.end = std::max(source.end, end);
  }
}

std::size_t RecordedPlan::bytes() const noexcept {
  return sizeof *this + plan.copies.size() * sizeof(replay::Copy) +
         plan.dimensions.size() * sizeof(replay::CopyDimension) + sources.size() * sizeof(Source);
}

std::shared_ptr<const RecordedPlan> PlanCache::find(const matcher::Fingerprint& key) {
  const std::lock_guard lock(mutex_);
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->plan;
}

void PlanCache::add(const matcher::Fingerprint& key, std::shared_ptr<const RecordedPlan> plan) {
  const std::lock_guard lock(mutex_);
  if (plan->bytes() > limit_bytes_ || by_key_.contains(key)) return;
  bytes_ += plan->bytes();
  entries_.push_front({key, std::move(plan)});
  by_key_.emplace(key, entries_.begin());
  while (bytes_ > limit_bytes_) {
    bytes_ -= entries_.back().plan->bytes();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace sluice::runtime
