#include "gatherings.hpp"

#include <algorithm>
#include <iterator>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

namespace {
/// Limit of missing processes that are named.
constexpr std::size_t most_named = 4;

std::string words_of(Gathering::Call call) {
  if (call == Gathering::Call::access) return "a collective call on ";
  return call == Gathering::Call::create ? "create of " : "open of ";
}
}  // namespace

void Gatherings::note(const Process& process, const Gathering& gathering) {
  (void)rules_.of(gathering.key);
  if (gathering.rank >= gathering.size) throw Error(NC_EINVAL, "a rank beyond the end of its communicator");
  const Id id{process.component->name, gathering.key, gathering.call, gathering.size, gathering.ranks};
  if (!gathering.is_over) {
    const std::uint64_t now = now_ms_();
    State& state = gatherings_[id];
    state.first_rank = gathering.first_rank;
    state.stride = gathering.stride;
    state.arrivals[gathering.rank] = {process.id, now - std::min(now, gathering.waited_ms)};
    return;
  }
  const auto found = gatherings_.find(id);
  if (found == gatherings_.end()) return;
  found->second.arrivals.erase(gathering.rank);
  if (found->second.arrivals.empty()) gatherings_.erase(found);
}

void Gatherings::drop_of(ProcessId process) {
  for (auto next = gatherings_.begin(); next != gatherings_.end();) {
    auto& arrivals = next->second.arrivals;
    std::erase_if(arrivals, [&](const auto& arrival) { return arrival.second.process == process; });
    next = arrivals.empty() ? gatherings_.erase(next) : std::next(next);
  }
}

/// When all processes have reported their arrival, they are about to continue.
std::vector<GatheringStatus> Gatherings::report() const {
  std::vector<GatheringStatus> report;
  const std::uint64_t now = now_ms_();
  for (const auto& [id, state] : gatherings_) {
    if (state.arrivals.size() == id.size) continue;
    GatheringStatus status;
    status.component = id.component;
    status.call = words_of(id.call) + names_.of(id.key);
    status.present = static_cast<std::uint32_t>(state.arrivals.size());
    status.size = id.size;
    const Component* const component = processes_.find_component(id.component);
    status.are_all_processes = component != nullptr && component->processes == id.size;
    status.are_its_ranks = state.stride > 0;
    const std::uint32_t stride = std::max(state.stride, std::uint32_t{1});
    for (std::uint32_t rank = 0; rank < id.size && status.absent.size() < most_named; ++rank) {
      if (!state.arrivals.contains(rank)) status.absent.push_back(state.first_rank + rank * stride);
    }
    for (const auto& [rank, arrival] : state.arrivals)
      status.since_ms = std::max(status.since_ms, now - std::min(now, arrival.since_ms));
    report.push_back(std::move(status));
  }
  return report;
}

std::vector<Gatherings::Present> Gatherings::incomplete() const {
  std::vector<Present> found;
  for (const auto& [id, state] : gatherings_) {
    if (state.arrivals.size() == id.size) continue;
    Present& present = found.emplace_back();
    present.component = id.component;
    for (const auto& [rank, arrival] : state.arrivals) present.processes.push_back(arrival.process);
  }
  return found;
}

}  // namespace sluice::matcher
