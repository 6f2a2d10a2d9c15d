#include "sluice/runtime/plan_cache.hpp"

#include <utility>

namespace sluice::runtime {

SharedPlan::SharedPlan(replay::Plan made, std::size_t element_bytes)
    : plan(std::move(made)), sources(replay::sources_of(plan, element_bytes)) {
  if (sources.size() > most_sources) replay::join_sources(sources, ~std::uint64_t{0});
  sources.shrink_to_fit();
  for (const replay::PlanSource& source : sources) source_bytes += source.end - source.first;
}

std::size_t SharedPlan::bytes() const noexcept {
  return sizeof *this + plan.copies.size() * sizeof(replay::Copy) +
         plan.dimensions.size() * sizeof(replay::CopyDimension) + sources.size() * sizeof(replay::PlanSource);
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
  const SharedPlan& shared = *plan->shared;
  if (plan->bytes() + shared.bytes() > limit_bytes_ || by_key_.contains(key)) return;
  bytes_ += plan->bytes();
  if (users_[&shared]++ == 0) bytes_ += shared.bytes();
  entries_.push_front({key, std::move(plan)});
  by_key_.emplace(key, entries_.begin());
  while (bytes_ > limit_bytes_) drop_last();
}

void PlanCache::drop_last() {
  const Entry& last = entries_.back();
  const auto shared = users_.find(last.plan->shared.get());
  bytes_ -= last.plan->bytes();
  if (--shared->second == 0) {
    bytes_ -= shared->first->bytes();
    users_.erase(shared);
  }
  by_key_.erase(last.key);
  entries_.pop_back();
}

}  // namespace sluice::runtime
