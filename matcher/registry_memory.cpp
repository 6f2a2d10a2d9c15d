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
  auto segment = take({std::max(request.bytes, request.wanted_bytes), request.use, process.id});
  if (!segment && request.wanted_bytes > request.bytes)
    segment = take({request.bytes, request.use, process.id});
  if (!segment) return false;
  const auto [group, rank] = membership(process, request.step, true);
  WriteLog& log = *group->step->logs[group->step->first_own_log + rank];
  auto& segments = request.use == SegmentUse::table ? log.tables : log.data;
  segments.push_back(std::move(*segment));
  answers_.granted(ticket, segments.back());
  return true;
}

/// Recycled memory first: it is warm, and a put into fresh memory takes several times as long. So what is
/// consumed stays readable only as far as it is little, or the last of its rule; the rest of it until the
/// first need.
std::optional<SegmentLease> Registry::take(const SegmentPool::Request& request) {
  if (auto segment = pool_.recycle(request)) return segment;
  while (consumed_bytes_ > retain_bytes_) {
    const auto has_successor = [&](const auto& entry) {
      return consumed_of_rule_[entry.second->key.rule] > 1;
    };
    const auto oldest = std::find_if(consumed_.begin(), consumed_.end(), has_successor);
    if (oldest == consumed_.end() || oldest->first.is_partial) break;
    erase(*oldest->second);
    if (auto segment = pool_.recycle(request)) return segment;
  }
  if (auto segment = pool_.make(request)) return segment;
  for (;;) {
    if (auto segment = pool_.squeeze(request)) return segment;
    if (consumed_.empty() || !may_fit(request.bytes)) return std::nullopt;
    erase(*consumed_.begin()->second);
  }
}

/// Whether there would be room if everything that is consumed went.
bool Registry::may_fit(std::uint64_t bytes) const noexcept {
  const std::uint64_t used = pool_.used_bytes();
  const std::uint64_t needed = used - std::min(used, consumed_bytes_);
  return bytes <= pool_.limit_bytes() && needed <= pool_.limit_bytes() - bytes;
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
