// Data that is in burst-buffer logs on disk (through: burst-buffer): docs/architecture.md, "Through logs".
#include <algorithm>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

/// The process has reserved the room itself: there is nothing more to wait for.
void Registry::grant_log(const Ticket& ticket, Process& process, const SegmentRequest& request) {
  const auto [group, rank] = writing_membership(process, request.step);
  Step& step = *group->step;
  if (request.use != SegmentUse::data || request.bytes == 0 ||
      rule_of(step.key).through != Through::burst_buffer)
    throw Error(NC_EINVAL, process.name() + " puts into a log what does not belong there");
  WriteLog& log = *step.logs[step.first_own_log + rank];
  log.burst_log = request.log.metadata_path;
  log.data.push_back(std::make_shared<SegmentLease>(
      pool(process.place.node)
          .log({request.bytes, request.use, process.id, process.place.index}, request.log)));
  ++step.revision;
  datasets_[step.key].bytes_spilled += request.bytes;
  answers_.granted(ticket, *log.data.back());
}

void Registry::await_room(const Ticket& ticket, ProcessId process, RoomRequest request) {
  Process& caller = processes_.at(process);
  const Step& step = *writing_membership(caller, request.step).group->step;
  if (step.state != StepState::in_progress) throw Error(NC_EIO, step.reason);
  if (rule_of(step.key).through != Through::burst_buffer)
    throw Error(NC_EINVAL, caller.name() + " waits for room in a log, and has none");
  MemoryWait wait{ticket,       {step.id, SegmentUse::data, request.bytes},
                  caller.place, {{process, 0}},
                  now_ms_(),    false,
                  {},           request.seen};
  wait.spill.trouble = std::move(request.trouble);
  serve(std::move(wait));
}

/// How often some of it has been given back, by any node: logs may be on a file system that several see.
/// Never 0.
std::uint64_t Registry::disk_given_back() const {
  std::uint64_t times = 1 + logs_ended_;
  for (const auto& memory : pools_) times += memory->spills_given_back();
  return times;
}

bool Registry::is_giving_disk_back() const {
  return std::ranges::any_of(pools_, [](const auto& memory) { return memory->is_giving_disk_back(); });
}

/// The process tries again where it may find more than the last time. If not, one of the steps goes that
/// nobody needs: more may not have to.
bool Registry::offer_room(const MemoryWait& wait) {
  const auto erase_on_any_node = [&](const auto& erase_on) {
    for (std::uint32_t node = 0; node < pools_.size(); ++node)
      if (erase_on(node)) return true;
    return false;
  };
  const auto erase_one = [&] {
    return erase_on_any_node([&](std::uint32_t node) { return erase_spilled(node, false); }) ||
           erase_on_any_node([&](std::uint32_t node) { return erase_spilled(node, true); }) ||
           erase_on_any_node([&](std::uint32_t node) { return erase_doubtful(node, Medium::disk); });
  };
  if (disk_given_back() == wait.seen && !is_giving_disk_back()) (void)erase_one();
  if (disk_given_back() == wait.seen) return false;
  answers_.room(wait.ticket, disk_given_back());
  return true;
}

/// What is in the step's logs has not reached its file, and will not: `sluice recover` needs them, and those
/// of the steps that this one continues.
void Registry::keep_logs(const Step& step) {
  if (rule_of(step.key).through != Through::burst_buffer) return;
  Dataset& dataset = datasets_[step.key];
  std::string example;
  for (const auto& log : step.logs) {
    if (log->burst_log.empty() || log->data.empty()) continue;
    const SegmentId segment = log->data.front()->id();
    pool(node_of(segment)).memory().keep_log(segment, true);
    dataset.kept_logs.push_back({step.id, segment});
    example = log->burst_log;
  }
  if (example.empty()) return;
  const auto slash = example.find_last_of('/');
  dataset.kept_logs_directory = example.substr(0, slash);
  answers_.detail("the burst-buffer logs of " + quoted(step.key) + " are kept: 'sluice recover " +
                  dataset.kept_logs_directory + "' brings what they hold to " + step.path);
}

void Registry::keep_unfinished_logs() {
  for (const auto& [id, step] : steps_) {
    const bool is_replaced =
        step->state == StepState::published && step->is_superseded && !step->is_draining();
    const bool is_done = step->drain == DrainState::ended || step->state == StepState::discarded;
    if (!is_done && !is_replaced) keep_logs(*step);
  }
}

/// The step has reached the file, so nobody needs what earlier ones had left.
void Registry::let_logs_go(const Step& drained) {
  std::erase_if(datasets_[drained.key].kept_logs, [&](const KeptLog& log) {
    if (log.step >= drained.id) return false;
    pool(node_of(log.segment)).memory().keep_log(log.segment, false);
    return true;
  });
}

/// The disk is for others: what has been read (and is in its file, where it was in logs) goes, but for the
/// last of the rule, and little.
void Registry::free_disk(const Step& step) {
  const std::uint32_t rule = step.key.rule;
  const auto has_ended = [&](const std::string& reader) {
    const Component* const component = processes_.find_component(reader);
    if (component == nullptr) return false;
    const bool are_all_gone = component->processes > 0 && component->ended.size() >= component->processes;
    return component->has_exited || are_all_gone;
  };
  // What was spilled stays readable, as a file would, while a reader lives: a put that finds the disk full
  // takes it.
  const bool is_log = rules_.at(rule).through == Through::burst_buffer;
  if (!is_log && !std::ranges::all_of(rules_.at(rule).readers, has_ended)) return;
  while (consumed_.most_bytes(Medium::disk) > retain_bytes_) {
    Step* const first = consumed_.first_spare_of(rule);
    if (first == nullptr) return;
    erase(*first);
  }
}

}  // namespace sluice::matcher
