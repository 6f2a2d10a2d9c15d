#include "wait_texts.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "registry_parts.hpp"

namespace sluice::matcher {

namespace {
/// Ranks that a wait names.
constexpr std::size_t most_ranks = 8;
/// A wait that is told with advice.
constexpr std::uint64_t long_wait_ms = 5000;
}  // namespace

std::string WaitTexts::of(const Group& group) const {
  switch (group.waits_for) {
    case Group::WaitsFor::memory:
      return for_memory(group.key);
    case Group::WaitsFor::own_step:
      return parts_.names.quoted(group.key) + ", which it still has open for writing itself";
    case Group::WaitsFor::readers:
      return parts_.names.quoted(group.key) + ", which " +
             parts_.groups.readers_of_file(group).front()->component->name + " has open for reading";
    case Group::WaitsFor::queue:
      return for_queue(group.key);
    case Group::WaitsFor::members:
      return parts_.names.quoted(group.key) + ", until all " + std::to_string(group.member.size) +
             " processes of the call have come";
    case Group::WaitsFor::publication:
    case Group::WaitsFor::file:
      break;
  }
  return parts_.names.quoted(group.key) + " from " + parts_.rules.of(group.key).writer +
         parts_.names.elsewhere_text(group.key);
}

/// What to do where a long wait for a publication may be a mistake; empty: it is none. Who asks for a name
/// that is not the next number of those that were published may look whether its own output is there: a
/// program does so before it reads.
std::string WaitTexts::doubt(const Group& group) const {
  if (group.waits_for != Group::WaitsFor::publication || !parts_.names.elsewhere_text(group.key).empty())
    return {};
  const FileRule& rule = parts_.rules.of(group.key);
  const Dataset* const dataset = parts_.datasets.find(group.key);
  if (rule.is_stream || !parts_.uses.has_published(group.key.rule) ||
      parts_.sequences.has_taken_any(group.key.rule, group.component->name) ||
      (dataset != nullptr && dataset->is_begun()) || parts_.uses.differs_in_digits(group.key))
    return {};
  return " (no file of such a name has been published so far. If " + group.component->name +
         " makes it itself, and looks first whether it is there, give it a name that '" + rule.pattern +
         "' does not cover)";
}

std::string WaitTexts::of(const GetWait& wait) const {
  return "data of " + wait.text + ", which " + parts_.rules.of(parts_.datasets.step(wait.step).key).writer +
         " has not put yet";
}

std::string WaitTexts::of(const MemoryWait& wait) const {
  const DatasetKey& key = parts_.datasets.step(wait.request.step).key;
  if (wait.is_being_served()) return "disk space for " + parts_.names.quoted(key);
  if (wait.is_for_disk())
    return "space in the burst buffer to write " + parts_.names.quoted(key) + blockers(Medium::disk);
  if (!wait.is_inbound) return for_memory(key);
  if (wait.is_for_image())
    return "memory to read " + parts_.names.quoted(key) + " as a file" + blockers(Medium::memory);
  return "memory for the data of " + parts_.names.quoted(key) + " that it reads from other nodes" +
         blockers(Medium::memory);
}

std::string WaitTexts::for_memory(const DatasetKey& key) const {
  return "memory to write " + parts_.names.quoted(key) + blockers(Medium::memory);
}

/// "a place in the queue of 'wave_*.nc' (analysis has not read 'wave_0001.nc'; it waits for …)"
std::string WaitTexts::for_queue(const DatasetKey& key) const {
  const std::string text = "a place in the queue of '" + parts_.rules.of(key).pattern + "'";
  const auto unread = parts_.sequences.unread(key);
  if (unread.empty()) return text;
  const Step& oldest = *unread.front();
  for (std::size_t i = 0; i < oldest.read_by.size(); ++i)
    if (parts_.sequences.is_unread_by(oldest, i)) return text + " (" + missing_readers(oldest, i) + ")";
  return text;
}

/// Names the oldest file that holds memory or disk space, the component that it is kept for, and what that
/// component waits for.
std::string WaitTexts::blockers(Medium medium) const {
  const std::string text = blocker(medium);
  return text.empty() ? text : " (" + text + ")";
}

std::string WaitTexts::blocker(Medium medium) const {
  for (const auto& [id, step] : parts_.retention.unconsumed()) {
    if (step->state != StepState::published || step->bytes_in(medium).empty()) continue;
    if (!step->readers.empty())
      return step->readers.front()->component->name + " has " + parts_.names.quoted(step->key) + " open";
    for (std::size_t i = 0; i < step->read_by.size(); ++i) {
      if (parts_.readers.claim_of_reader(*step, i) == Claim::needed) return missing_readers(*step, i);
    }
    if (step->is_draining()) return parts_.names.quoted(step->key) + " is being written to its file";
  }
  return {};
}

/// "model has ended"
std::string WaitTexts::starts_when(const Component& component) const {
  for (const std::string& name : component.after) {
    const Component* const other = parts_.processes.find_component(name);
    if (other != nullptr && !other->has_exited) return name + " has ended";
  }
  const auto running = parts_.processes.running_members(component);
  return (running.empty() ? "others of " + component.ensemble : running.front()->name) + " has ended";
}

std::string WaitTexts::missing_readers(const Step& step, std::size_t reader) const {
  const std::string& name = parts_.rules.of(step.key).readers[reader];
  const Component* const component = parts_.processes.find_component(name);
  const std::size_t closed = step.read_by[reader].processes.size();
  std::string text = name + " has not read " + parts_.names.quoted(step.key);
  if (closed > 0 && component != nullptr && component->processes > closed) {
    text = std::to_string(component->processes - closed) + " of " + std::to_string(component->processes) +
           " processes of " + name + " have not read " + parts_.names.quoted(step.key);
  }
  if (component != nullptr && !parts_.processes.has_started(*component))
    return text + "; it starts when " + starts_when(*component);
  for (const Group* group : parts_.groups.waiting()) {
    if (group->component == component && group->waits_for != Group::WaitsFor::memory)
      return text + "; it waits for " + of(*group);
  }
  return text;
}

std::string WaitTexts::hopeless(const MemoryWait& wait) const {
  const std::string name = parts_.names.quoted(parts_.datasets.step(wait.request.step).key) + ": ";
  if (wait.is_for_disk())
    return name + "the burst buffer is full, and no process can free space: " + wait.spill.trouble +
           ". Use a directory with more space (staging.spill, or the hint nc_burst_buf_dirname)";
  const std::string text = name + hopeless_memory(wait.place.node, wait.request.bytes);
  return wait.spill.trouble.empty() ? text : text + " or free space in staging.spill: " + wait.spill.trouble;
}

std::string WaitTexts::hopeless_memory(std::uint32_t node, std::uint64_t bytes) const {
  const std::string holder = blocker(Medium::memory);
  return "no memory is left for " + parts_.pools.memory_text(node, bytes) + ", and no reader can free any" +
         (holder.empty() ? "" : " (" + holder + ")") + ": raise staging.memory" +
         (parts_.grants.spills() ? "" : ", or set staging.spill to a directory with free space");
}

std::string WaitTexts::cycle(const std::vector<StuckWait>& waits) const {
  std::string text;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const StuckWait& wait = waits[i];
    text += (i == 0 ? wait.component->name : ", which") + " waits for " +
            (wait.group != nullptr ? of(*wait.group) : of(*wait.get));
  }
  return text;
}

std::vector<WaitStatus> WaitTexts::report(std::uint64_t now) const {
  std::vector<WaitStatus> waits;
  const auto add = [&](const Process& process, const std::string& text, std::uint64_t since_ms,
                       bool is_doubtful = false) {
    const std::string& component = process.component->name;
    const auto found = std::find_if(waits.begin(), waits.end(), [&](const WaitStatus& wait) {
      return wait.component == component && wait.waits_for == text;
    });
    const std::uint64_t waited = now - std::min(now, since_ms);
    WaitStatus& wait = found == waits.end() ? waits.emplace_back(WaitStatus{component, 0, text, 0}) : *found;
    ++wait.processes;
    wait.is_doubtful = is_doubtful;
    wait.since_ms = std::max(wait.since_ms, waited);
    if (process.rank != no_rank && wait.ranks.size() < most_ranks)
      wait.ranks.push_back(static_cast<std::uint32_t>(process.rank));
  };
  std::map<std::pair<std::string, DatasetKey>, std::string> advice;  // it takes a look at many names
  const auto advice_on = [&](const Group& group) -> const std::string& {
    const auto [known, is_new] = advice.try_emplace({group.component->name, group.key});
    if (is_new) known->second = doubt(group);
    return known->second;
  };
  const auto& processes = parts_.processes.processes();
  for (const Group* group : parts_.groups.waiting()) {
    const std::string text = of(*group);
    const bool is_doubtful =
        group->waits_for == Group::WaitsFor::publication && !parts_.names.elsewhere_text(group->key).empty();
    for (const auto& [rank, member] : group->members) {
      const Process* const process = processes.find(member.process);
      const bool is_long = now - std::min(now, member.since_ms) >= long_wait_ms;
      if (member.ticket && process != nullptr)
        add(*process, is_long ? text + advice_on(*group) : text, member.since_ms, is_doubtful);
    }
  }
  for (const GetWait& wait : parts_.get_waits.all()) add(processes.at(wait.process), of(wait), wait.since_ms);
  for (const MemoryWait& wait : parts_.memory_waits.all()) {
    for (const InboundReader& waiter : wait.waiters)
      add(processes.at(waiter.process), of(wait), wait.since_ms);
  }
  return waits;
}

}  // namespace sluice::matcher
