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

/// What to do where a long wait for a publication may be a mistake; empty: it is none. Who asks for a name
/// that is not the next number of those that were published may look whether its own output is there: a
/// program does so before it reads.
std::string doubt(const RegistryParts& parts, const Group& group) {
  if (group.waits_for != Group::WaitsFor::publication || !parts.names.elsewhere_text(group.key).empty())
    return {};
  const FileRule& rule = parts.rules.of(group.key);
  const Dataset* const dataset = parts.datasets.find(group.key);
  if (rule.is_stream || !parts.uses.has_published(group.key.rule) ||
      parts.sequences.has_taken_any(group.key.rule, group.component->name) ||
      (dataset != nullptr && dataset->is_begun()) || parts.uses.differs_in_digits(group.key))
    return {};
  return " (no file of such a name has been published so far. If " + group.component->name +
         " makes it itself, and looks first whether it is there, give it a name that '" + rule.pattern +
         "' does not cover)";
}

/// "model has ended"
std::string starts_when(const RegistryParts& parts, const Component& component) {
  for (const std::string& name : component.after) {
    const Component* const other = parts.processes.find_component(name);
    if (other != nullptr && !other->has_exited) return name + " has ended";
  }
  const auto running = parts.processes.running_members(component);
  return (running.empty() ? "others of " + component.ensemble : running.front()->name) + " has ended";
}

std::string missing_readers(const RegistryParts& parts, const Step& step, std::size_t reader) {
  const std::string& name = parts.rules.of(step.key).readers[reader];
  const Component* const component = parts.processes.find_component(name);
  const std::size_t closed = step.read_by[reader].processes.size();
  std::string text = name + " has not read " + parts.names.quoted(step.key);
  if (closed > 0 && component != nullptr && component->processes > closed) {
    text = std::to_string(component->processes - closed) + " of " + std::to_string(component->processes) +
           " processes of " + name + " have not read " + parts.names.quoted(step.key);
  }
  if (component != nullptr && !parts.processes.has_started(*component))
    return text + "; it starts when " + starts_when(parts, *component);
  for (const Group* group : parts.groups.waiting()) {
    if (group->component == component && group->waits_for != Group::WaitsFor::memory)
      return text + "; it waits for " + text_of(parts, *group);
  }
  return text;
}

std::string blocker(const RegistryParts& parts, Medium medium) {
  for (const auto& [id, step] : parts.retention.unconsumed()) {
    if (step->state != StepState::published || step->bytes_in(medium).empty()) continue;
    if (!step->readers.empty())
      return step->readers.front()->component->name + " has " + parts.names.quoted(step->key) + " open";
    for (std::size_t i = 0; i < step->read_by.size(); ++i) {
      if (parts.readers.claim_of_reader(*step, i) == Claim::needed) return missing_readers(parts, *step, i);
    }
    if (step->is_draining()) return parts.names.quoted(step->key) + " is being written to its file";
  }
  return {};
}

/// Names the oldest file that holds memory or disk space, the component that it is kept for, and what that
/// component waits for.
std::string blockers(const RegistryParts& parts, Medium medium) {
  const std::string text = blocker(parts, medium);
  return text.empty() ? text : " (" + text + ")";
}

std::string for_memory(const RegistryParts& parts, const DatasetKey& key) {
  return "memory to write " + parts.names.quoted(key) + blockers(parts, Medium::memory);
}

/// "a place in the queue of 'wave_*.nc' (analysis has not read 'wave_0001.nc'; it waits for …)"
std::string for_queue(const RegistryParts& parts, const DatasetKey& key) {
  const std::string text = "a place in the queue of '" + parts.rules.of(key).pattern + "'";
  const auto unread = parts.sequences.unread(key);
  if (unread.empty()) return text;
  const Step& oldest = *unread.front();
  for (std::size_t i = 0; i < oldest.read_by.size(); ++i)
    if (parts.sequences.is_unread_by(oldest, i)) return text + " (" + missing_readers(parts, oldest, i) + ")";
  return text;
}

}  // namespace

std::string text_of(const RegistryParts& parts, const Group& group) {
  switch (group.waits_for) {
    case Group::WaitsFor::memory:
      return for_memory(parts, group.key);
    case Group::WaitsFor::own_step:
      return parts.names.quoted(group.key) + ", which it still has open for writing itself";
    case Group::WaitsFor::readers:
      return parts.names.quoted(group.key) + ", which " +
             parts.groups.readers_of_file(group).front()->component->name + " has open for reading";
    case Group::WaitsFor::queue:
      return for_queue(parts, group.key);
    case Group::WaitsFor::members:
      return parts.names.quoted(group.key) + ", until all " + std::to_string(group.member.size) +
             " processes of the call have come";
    case Group::WaitsFor::publication:
    case Group::WaitsFor::file:
      break;
  }
  return parts.names.quoted(group.key) + " from " + parts.rules.of(group.key).writer +
         parts.names.elsewhere_text(group.key);
}

std::string text_of(const RegistryParts& parts, const GetWait& wait) {
  return "data of " + wait.text + ", which " + parts.rules.of(parts.datasets.step(wait.step).key).writer +
         " has not put yet";
}

std::string text_of(const RegistryParts& parts, const MemoryWait& wait) {
  const DatasetKey& key = parts.datasets.step(wait.request.step).key;
  if (wait.is_being_served()) return "disk space for " + parts.names.quoted(key);
  if (wait.is_for_disk())
    return "space in the burst buffer to write " + parts.names.quoted(key) + blockers(parts, Medium::disk);
  if (!wait.is_inbound) return for_memory(parts, key);
  if (wait.is_for_image())
    return "memory to read " + parts.names.quoted(key) + " as a file" + blockers(parts, Medium::memory);
  return "memory for the data of " + parts.names.quoted(key) + " that it reads from other nodes" +
         blockers(parts, Medium::memory);
}

std::string hopeless_text(const RegistryParts& parts, const MemoryWait& wait) {
  const std::string name = parts.names.quoted(parts.datasets.step(wait.request.step).key) + ": ";
  if (wait.is_for_disk())
    return name + "the burst buffer is full, and no process can free space: " + wait.spill.trouble +
           ". Use a directory with more space (staging.spill, or the hint nc_burst_buf_dirname)";
  const std::string text = name + hopeless_memory_text(parts, wait.place.node, wait.request.bytes);
  return wait.spill.trouble.empty() ? text : text + " or free space in staging.spill: " + wait.spill.trouble;
}

std::string hopeless_memory_text(const RegistryParts& parts, std::uint32_t node, std::uint64_t bytes) {
  const std::string holder = blocker(parts, Medium::memory);
  return "no memory is left for " + parts.pools.memory_text(node, bytes) + ", and no reader can free any" +
         (holder.empty() ? "" : " (" + holder + ")") + ": raise staging.memory" +
         (parts.grants.spills() ? "" : ", or set staging.spill to a directory with free space");
}

std::string cycle_text(const RegistryParts& parts, const std::vector<StuckWait>& waits) {
  std::string text;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const StuckWait& wait = waits[i];
    text += (i == 0 ? wait.component->name : ", which") + " waits for " +
            (wait.group != nullptr ? text_of(parts, *wait.group) : text_of(parts, *wait.get));
  }
  return text;
}

std::vector<WaitStatus> report_waits(const RegistryParts& parts, std::uint64_t now) {
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
    if (is_new) known->second = doubt(parts, group);
    return known->second;
  };
  const auto& processes = parts.processes.processes();
  for (const Group* group : parts.groups.waiting()) {
    const std::string text = text_of(parts, *group);
    const bool is_doubtful =
        group->waits_for == Group::WaitsFor::publication && !parts.names.elsewhere_text(group->key).empty();
    for (const auto& [rank, member] : group->members) {
      const Process* const process = processes.find(member.process);
      const bool is_long = now - std::min(now, member.since_ms) >= long_wait_ms;
      if (member.ticket && process != nullptr)
        add(*process, is_long ? text + advice_on(*group) : text, member.since_ms, is_doubtful);
    }
  }
  for (const GetWait& wait : parts.get_waits.all())
    add(processes.at(wait.process), text_of(parts, wait), wait.since_ms);
  for (const MemoryWait& wait : parts.memory_waits.all()) {
    for (const InboundReader& waiter : wait.waiters)
      add(processes.at(waiter.process), text_of(parts, wait), wait.since_ms);
  }
  return waits;
}

}  // namespace sluice::matcher
