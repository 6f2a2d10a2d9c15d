// Where the memory of steps comes from.
#include <algorithm>

#include "quoted.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

void Registry::need_segment(const Ticket& ticket, ProcessId process, const SegmentRequest& request) {
  Process& caller = processes_.at(process);
  const Step& step = *writing_membership(caller, request.step).group->step;
  if (step.state != StepState::in_progress) throw Error(NC_EIO, step.reason);
  if (request.use == SegmentUse::control) throw Error(NC_EINVAL, caller.name() + " asks for a control block");
  const std::uint32_t node = caller.place.node;
  if (request.bytes > pool(node).limit_bytes()) {
    throw Error(NC_ENO_SPACE, memory_text(node, request.bytes) + " for " + quoted(step.key) +
                                  " is more than there is at all: raise staging.memory");
  }
  if (try_grant(ticket, caller, request)) return;
  memory_waits_.push_back({ticket, process, request, now_ms_()});
  ++caller.waits;
  advance();
}

bool Registry::try_grant(const Ticket& ticket, const Process& process, const SegmentRequest& request) {
  auto segment = take(process, std::max(request.bytes, request.wanted_bytes), request.use);
  if (!segment && request.wanted_bytes > request.bytes) segment = take(process, request.bytes, request.use);
  if (!segment) return false;
  const auto [group, rank] = membership(process, request.step, true);
  WriteLog& log = *group->step->logs[group->step->first_own_log + rank];
  auto& segments = request.use == SegmentUse::table ? log.tables : log.data;
  segments.push_back(std::move(*segment));
  ++group->step->revision;
  answers_.granted(ticket, segments.back());
  return true;
}

/// Recycled memory first: it is warm, and a put into fresh memory takes several times as long. So what is
/// consumed stays readable only as far as it is little, or the last of its rule; the rest of it until the
/// first need.
std::optional<SegmentLease> Registry::take(MatcherPlace place, const SegmentPool::Request& request) {
  const std::uint32_t node = place.node;
  const std::uint64_t bytes = request.bytes;
  SegmentPool& memory = pool(node);
  if (auto segment = memory.recycle(request)) return segment;
  while (consumed_bytes_[node] > retain_bytes_ && recycle_oldest(node)) {
    if (auto segment = memory.recycle(request)) return segment;
  }
  if (auto segment = memory.make(request)) return segment;
  for (;;) {
    if (auto segment = memory.squeeze(request)) return segment;
    if (!may_fit(node, bytes)) return std::nullopt;
    const auto oldest = std::find_if(consumed_.begin(), consumed_.end(), [&](const auto& entry) {
      return entry.second->staged_bytes().contains(node);
    });
    if (oldest == consumed_.end()) return std::nullopt;
    erase(*oldest->second);
  }
}

std::optional<SegmentLease> Registry::take(const Process& process, std::uint64_t bytes, SegmentUse use) {
  return take(process.place, {bytes, use, process.id, process.place.index});
}

const SegmentLease& Registry::lease_landing(StepId id, MatcherPlace place, std::uint64_t bytes,
                                            std::uint64_t wanted_bytes) {
  auto& landed = const_cast<Step&>(step(id));
  if (landed.consumed_place) throw Error(NC_EBADID, "nobody has step " + std::to_string(id) + " open");
  std::optional<SegmentLease> segment;
  for (const std::uint64_t size : {std::max(bytes, wanted_bytes), bytes}) {
    if (!segment) segment = take(place, {size, SegmentUse::data, ProcessId{}, place.index});
  }
  if (!segment) {
    throw Error(NC_ENO_SPACE, memory_text(place.node, bytes) + " for what is read of " + quoted(landed.key) +
                                  " from other nodes cannot be had now: raise staging.memory");
  }
  return landed.landings.emplace_back(std::move(*segment));
}

/// Gives up the oldest consumed step on the node that is not the last of its rule. False when there is none.
bool Registry::recycle_oldest(std::uint32_t node) {
  const auto may_go = [&](const auto& entry) {
    return consumed_of_rule_[entry.second->key.rule] > 1 && entry.second->staged_bytes().contains(node);
  };
  const auto oldest = std::find_if(consumed_.begin(), consumed_.end(), may_go);
  if (oldest == consumed_.end() || oldest->first.is_partial) return false;
  erase(*oldest->second);
  return true;
}

/// Whether there would be room if everything that is consumed went.
bool Registry::may_fit(std::uint32_t node, std::uint64_t bytes) const {
  const SegmentPool& memory = *pools_.at(node);
  const std::uint64_t used = memory.used_bytes();
  const std::uint64_t needed = used - std::min(used, consumed_bytes_[node]);
  return bytes <= memory.limit_bytes() && needed <= memory.limit_bytes() - bytes;
}

std::string Registry::memory_text(std::uint32_t node, std::uint64_t bytes) const {
  const SegmentPool& memory = *pools_.at(node);
  const std::string where = pools_.size() > 1 ? " of node " + std::to_string(node) : "";
  const auto in_units = [](std::uint64_t value) {
    if (value >= 10 * 1024 * 1024) return std::to_string(value / (1024 * 1024)) + " MiB";
    return std::to_string((value + 1023) / 1024) + " KiB";
  };
  return in_units(bytes) + " of staging memory" + where + " (" + in_units(memory.used_bytes()) + " of " +
         in_units(memory.limit_bytes()) + " in use)";
}

}  // namespace sluice::matcher
