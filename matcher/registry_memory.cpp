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
  if (request.bytes > (request.use == SegmentUse::data ? spare_bytes(node) : pool(node).limit_bytes())) {
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
std::optional<SegmentLease> Registry::take(MatcherPlace place, const SegmentPool::Request& request,
                                           MemoryKind kind) {
  const std::uint32_t node = place.node;
  const std::uint64_t bytes = request.bytes;
  SegmentPool& memory = pool(node);
  if (kind == MemoryKind::spare && pools_.size() > 1) {
    const std::uint64_t needed = memory.used_bytes() - std::min(memory.used_bytes(), consumed_bytes_[node]);
    if (needed + bytes > spare_bytes(node)) return std::nullopt;
    while (memory.used_bytes() + bytes > spare_bytes(node)) {
      if (!erase_consumed(node)) return std::nullopt;
    }
  }
  if (auto segment = memory.recycle(request)) return segment;
  while (consumed_bytes_[node] > retain_bytes_ && recycle_oldest(node)) {
    if (auto segment = memory.recycle(request)) return segment;
  }
  if (auto segment = memory.make(request)) return segment;
  for (;;) {
    if (auto segment = memory.squeeze(request)) return segment;
    if (!may_fit(node, bytes) || !erase_consumed(node)) return std::nullopt;
  }
}

/// Gives up the first consumed step on the node. False when there is none.
bool Registry::erase_consumed(std::uint32_t node) {
  const auto oldest = std::find_if(consumed_.begin(), consumed_.end(), [&](const auto& entry) {
    return entry.second->staged_bytes().contains(node);
  });
  if (oldest == consumed_.end()) return false;
  erase(*oldest->second);
  return true;
}

/// What may be used where somebody can wait: where there are several nodes, not the last quarter, so that
/// what readers need of other nodes finds room on a node whose writers have filled it. Readers are what
/// empties it.
std::uint64_t Registry::spare_bytes(std::uint32_t node) const {
  const std::uint64_t limit = pools_.at(node)->limit_bytes();
  return pools_.size() > 1 ? limit - limit / 4 : limit;
}

std::optional<SegmentLease> Registry::take(const Process& process, std::uint64_t bytes, SegmentUse use) {
  const auto kind = use == SegmentUse::data ? MemoryKind::spare : MemoryKind::needed;
  return take(process.place, {bytes, use, process.id, process.place.index}, kind);
}

const SegmentLease& Registry::lease_landing(StepId id, MatcherPlace place, const LandingSize& size) {
  auto& landed = const_cast<Step&>(step(id));
  if (landed.consumed_place) throw Error(NC_EBADID, "nobody has step " + std::to_string(id) + " open");
  std::optional<SegmentLease> segment;
  const SegmentPool::Request wanted{std::max(size.bytes, size.wanted_bytes), SegmentUse::data, ProcessId{},
                                    place.index};
  segment = take(place, wanted, MemoryKind::spare);
  if (!segment && !size.is_ahead) {
    segment = take(place, {size.bytes, SegmentUse::data, ProcessId{}, place.index}, MemoryKind::needed);
  }
  if (!segment) {
    throw Error(NC_ENO_SPACE, memory_text(place.node, size.bytes) + " for what is read of " +
                                  quoted(landed.key) +
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
