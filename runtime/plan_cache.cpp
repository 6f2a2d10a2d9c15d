#include "sluice/runtime/plan_cache.hpp"

#include <algorithm>
#include <utility>

namespace sluice::runtime {

RecordedPlan::RecordedPlan(replay::Plan made, std::uint32_t first_own_writer, std::size_t element_bytes)
    : plan(std::move(made)), first_writer(first_own_writer) {
  for (const replay::Copy& copy : plan.copies) {
    if (copy.is_fill) continue;
    const auto [first, end] = replay::source_range(plan, copy, element_bytes);
    sources.push_back({copy.writer, first, end});
  }
  join_sources(0);
  if (sources.size() > most_sources) join_sources(~std::uint64_t{0});
  sources.shrink_to_fit();
  for (const Source& source : sources) source_bytes += source.end - source.first;
}

void RecordedPlan::join_sources(std::uint64_t largest_gap) {
  std::ranges::sort(sources, {}, [](const Source& source) { return std::pair(source.writer, source.first); });
  std::size_t last = 0;
  for (std::size_t i = 1; i < sources.size(); ++i) {
    Source& before = sources[last];
    const bool is_near = sources[i].writer == before.writer &&
                         (sources[i].first <= before.end || sources[i].first - before.end <= largest_gap);
    if (is_near) {
      before.end = std::max(before.end, sources[i].end);
    } else {
      sources[++last] = sources[i];
    }
  }
  if (!sources.empty()) sources.resize(last + 1);
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
