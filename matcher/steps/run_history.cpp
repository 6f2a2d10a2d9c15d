#include "run_history.hpp"

#include <algorithm>
#include <utility>

namespace sluice::matcher {

namespace {
/// About two megabytes.
constexpr std::size_t most_kept = 16384;
/// Of a component with more ranks, the activities of these stand for all.
constexpr std::int32_t most_ranks_shown = 64;
}  // namespace

bool RunHistory::shows(const Process& process) noexcept {
  return process.rank < most_ranks_shown && !process.component->is_attached();
}

void RunHistory::add(Activity::Kind kind, const Process& process, std::uint32_t rule, const std::string& file,
                     std::uint64_t begin_ms, std::uint64_t bytes) {
  if (!shows(process)) return;
  keep({kind, process.component->name, process.rank, rule, file, begin_ms, now_ms_(), bytes});
}

void RunHistory::add_calls(const Calls& calls, const Process& process, const CallSpan& span) {
  constexpr std::uint64_t us_in_a_ms = 1000;
  const bool is_seen = span.first_us >= span.last_us + us_in_a_ms;
  if (!is_seen || !shows(process)) return;
  const std::uint64_t now = now_ms_();
  keep({calls.kind, process.component->name, process.rank, calls.rule, calls.file,
        now - std::min(now, span.first_us / us_in_a_ms), now - std::min(now, span.last_us / us_in_a_ms),
        calls.bytes, span.busy_us});
}

void RunHistory::add_drain(std::uint32_t rule, const std::string& file, std::uint64_t begin_ms,
                           std::uint64_t bytes) {
  keep({Activity::Kind::drain, {}, no_rank, rule, file, begin_ms, now_ms_(), bytes});
}

void RunHistory::keep(Activity activity) {
  activity.begin_ms -= std::min(began_ms_, activity.begin_ms);
  activity.end_ms -= std::min(began_ms_, activity.end_ms);
  kept_.push_back(std::move(activity));
  ++last_;
  if (kept_.size() > most_kept) kept_.pop_front();
}

void RunHistory::report(const WatchRequest& request, RunView& view) const {
  view.now_ms = now_ms_() - began_ms_;
  view.last_activity = last_;
  if (!request.has_activities || request.after_activity >= last_) return;
  const std::uint64_t wanted = last_ - request.after_activity;
  const std::uint64_t given = std::min<std::uint64_t>(wanted, kept_.size());
  view.lost_activities = wanted - given;
  view.activities.assign(kept_.end() - static_cast<std::ptrdiff_t>(given), kept_.end());
}

}  // namespace sluice::matcher
