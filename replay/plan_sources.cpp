// Finds the log ranges that a plan reads.
#include <algorithm>
#include <tuple>

#include "sluice/replay/plan.hpp"

namespace sluice::replay {

std::vector<PlanSource> sources_of(const Plan& plan, std::size_t element_bytes) {
  std::vector<PlanSource> sources;
  for (const Copy& copy : plan.copies) {
    if (copy.is_fill) continue;
    const auto [first, end] = source_range(plan, copy, element_bytes);
    const bool goes_on =
        !sources.empty() && sources.back().writer == copy.writer && sources.back().end == first;
    if (goes_on) {
      sources.back().end = end;
    } else {
      sources.push_back({copy.writer, first, end});
    }
  }
  join_sources(sources, 0);
  return sources;
}

void join_sources(std::vector<PlanSource>& sources, std::uint64_t largest_gap) {
  const auto is_before = [](const PlanSource& a, const PlanSource& b) {
    return std::tie(a.writer, a.first) < std::tie(b.writer, b.first);
  };
  if (!std::ranges::is_sorted(sources, is_before)) std::ranges::sort(sources, is_before);
  std::size_t last = 0;
  for (std::size_t i = 1; i < sources.size(); ++i) {
    PlanSource& before = sources[last];
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

std::int64_t shift_of(std::span<const matcher::LogShift> shifts, std::uint32_t writer) noexcept {
  const auto found = std::ranges::lower_bound(shifts, writer, {}, &matcher::LogShift::writer);
  return found != shifts.end() && found->writer == writer ? found->bytes : 0;
}

void move_logs(Plan& plan, std::span<const matcher::LogShift> shifts) noexcept {
  if (shifts.empty()) return;
  for (Copy& copy : plan.copies) {
    if (!copy.is_fill) copy.log_offset += static_cast<std::uint64_t>(shift_of(shifts, copy.writer));
  }
}

}  // namespace sluice::replay
