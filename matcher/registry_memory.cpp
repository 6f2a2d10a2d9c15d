// Where the memory of steps comes from.
#include <algorithm>

#include "quoted.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

void Registry::need_segment(const Ticket& ticket, ProcessId process, const SegmentRequest& request) {
  Process& caller = processes_.at(process);
  const Step& step = *writing_membership(caller, request.step).group->step;
  if (step.state == StepState::discarded) throw Error(NC_EIO, step.reason);
  if (request.use == SegmentUse::control) throw Error(NC_EINVAL, caller.name() + " asks for a control block");
  if (request.bytes > pool_.limit_bytes()) {
    throw Error(NC_ENO_SPACE, memory_text(request.bytes) + " for " + quoted(step.key) +
                                  " is more than there is at all: raise staging.memory");
  }
  if (try_grant(ticket, caller, request)) return;
  memory_waits_.push_back({ticket, process, request, now_ms_()});
  ++caller.waits;
  advance();
}

bool Registry::try_grant(const Ticket& ticket, const Process& process, const SegmentRequest& request) {
  auto segment = take({request.bytes, request.use, process.id});
  if (!segment) return false;
  const auto [group, rank] = membership(process, request.step, true);
  WriteLog& log = *group->step->logs[group->step->first_own_log + rank];
  auto& segments = request.use == SegmentUse::table ? log.tables : log.data;
  segments.push_back(std::move(*segment));
  answers_.granted(ticket, segments.back());
  return true;
}

/// Recycled memory first: it is warm. What is consumed stays readable as far as it is an eighth of all
/// memory, or until nothing else is left.
std::optional<SegmentLease> Registry::take(const SegmentPool::Request& request) {
  if (auto segment = pool_.recycle(request)) return segment;
  while (consumed_bytes_ > pool_.limit_bytes() / 8 && !consumed_.begin()->first.is_partial) {
    erase(*consumed_.begin()->second);
    if (auto segment = pool_.recycle(request)) return segment;
  }
  if (auto segment = pool_.make(request)) return segment;
  for (;;) {
    if (auto segment = pool_.squeeze(request)) return segment;
    if (consumed_.empty()) return std::nullopt;
    erase(*consumed_.begin()->second);
  }
}

std::string Registry::memory_text(std::uint64_t bytes) const {
  const auto in_units = [](std::uint64_t value) {
    if (value >= 10 * 1024 * 1024) return std::to_string(value / (1024 * 1024)) + " MiB";
    return std::to_string((value + 1023) / 1024) + " KiB";
  };
  return in_units(bytes) + " of staging memory (" + in_units(pool_.used_bytes()) + " of " +
         in_units(pool_.limit_bytes()) + " in use)";
}

}  // namespace sluice::matcher
