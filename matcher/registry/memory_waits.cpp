#include "memory_waits.hpp"

#include <algorithm>
#include <utility>

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::matcher {

bool MemoryWaits::need_segment(const Ticket& ticket, const Process& caller, const SegmentRequest& request) {
  const GroupMembership writer = parts_.datasets.must_write(caller, request.step);
  const Step& step = *writer.group->step;
  if (step.state != StepState::in_progress) throw Error(NC_EIO, step.reason);
  if (request.use != SegmentUse::data && request.use != SegmentUse::table && request.use != SegmentUse::file)
    throw Error(NC_EINVAL, caller.name() + " asks for memory that is not for a log");
  if (!request.log.metadata_path.empty()) {
    parts_.logs.grant(ticket, caller, request);
    return false;
  }
  const std::uint32_t node = caller.place.node;
  if (!parts_.grants.spills() && request.bytes > parts_.memory.room_for(node, MemoryKind::spare)) {
    const std::string text =
        parts_.pools.memory_text(node, request.bytes) + " for " + parts_.names.quoted(step.key) +
        " is more than the whole staging memory: raise staging.memory, or let staging.spill "
        "be auto";
    parts_.answers.event(caller.component->name + " cannot put: " + text);
    throw Error(NC_ENO_SPACE, text);
  }
  MemoryWait wait{ticket, request, parts_.place_of(ticket, caller), {{caller.id, 0}}, parts_.now_ms()};
  wait.writer = writer;
  if (!request.is_ahead) return serve(std::move(wait));
  parts_.grants.grant_ahead(wait);
  return false;
}

std::size_t MemoryWaits::grant_again(std::span<const Caller> callers, const SegmentRequest& request) {
  Step* const step = parts_.datasets.find_step(request.step);
  if (step == nullptr || step->state != StepState::in_progress) return 0;
  std::vector<Ticket> tickets;
  std::vector<ProcessId> processes;
  std::vector<std::uint32_t> ranks;
  tickets.reserve(callers.size());
  processes.reserve(callers.size());
  ranks.reserve(callers.size());
  MatcherPlace place;
  for (const Caller& caller : callers) {
    const Process* const process = parts_.processes.find(caller.process);
    const GroupMembership writer = process == nullptr ? GroupMembership{} : process->writes(*step);
    const MatcherPlace own = process == nullptr ? place : parts_.place_of(caller.ticket, *process);
    if (processes.empty()) place = own;
    if (writer.group == nullptr || own != place) break;
    tickets.push_back(caller.ticket);
    processes.push_back(caller.process);
    ranks.push_back(writer.rank);
  }
  return processes.empty() ? 0
                           : parts_.grants.grant_again({*step, request, place, tickets, processes, ranks});
}

bool MemoryWaits::await_disk(const Ticket& ticket, const Process& caller, DiskRequest request) {
  const Step& step = *parts_.datasets.must_write(caller, request.step).group->step;
  if (step.state != StepState::in_progress) throw Error(NC_EIO, step.reason);
  if (parts_.rules.of(step.key).through != Through::burst_buffer)
    throw Error(NC_EINVAL, caller.name() + " waits for space in a burst-buffer log, and has none");
  MemoryWait wait{ticket,
                  {step.id, SegmentUse::data, request.bytes},
                  caller.place,
                  {{caller.id, 0}},
                  parts_.now_ms(),
                  false,
                  {},
                  request.seen};
  wait.spill.trouble = std::move(request.trouble);
  return serve(std::move(wait));
}

bool MemoryWaits::lease_inbound(const Ticket& ticket, StepId id, MatcherPlace place, const InboundSize& size,
                                std::optional<InboundReader> reader) {
  const Step& landed = parts_.datasets.usable_step(id);
  if (landed.consumed_place) throw Error(NC_EBADID, "nobody has step " + std::to_string(id) + " open");
  MemoryWait wait{ticket, {id, size.use, size.bytes, size.wanted_bytes}, place, {}, parts_.now_ms(), true};
  if (size.is_ahead) {
    parts_.grants.lease_ahead(wait);
    return false;
  }
  if (!reader || parts_.processes.find(reader->process) == nullptr)
    throw Error(NC_EBADID, "its reader has ended");
  wait.waiters.push_back(*reader);
  return serve(std::move(wait));
}

bool MemoryWaits::join_inbound_wait(StepId id, MatcherPlace place, const InboundReader& reader) {
  return join(reader, [&](const MemoryWait& wait) {
    return wait.is_inbound && !wait.is_for_image() && wait.request.step == id && wait.place == place;
  });
}

bool MemoryWaits::join_image_wait(StepId id, std::uint32_t node, const InboundReader& reader) {
  return join(reader, [&](const MemoryWait& wait) {
    return wait.is_for_image() && wait.request.step == id && wait.place.node == node;
  });
}

bool MemoryWaits::join(const InboundReader& reader, const std::function<bool(const MemoryWait&)>& is_meant) {
  const auto wait = std::ranges::find_if(waits_, is_meant);
  if (parts_.processes.find(reader.process) == nullptr || wait == waits_.end()) return false;
  wait->waiters.push_back(reader);
  begin_wait(*wait, reader);
  return true;
}

bool MemoryWaits::serve(MemoryWait&& wait) {
  if (parts_.grants.try_grant(wait)) return false;
  for (const InboundReader& waiter : wait.waiters) begin_wait(wait, waiter);
  wait.writer = {};
  waits_.push_back(std::move(wait));
  return true;
}

void MemoryWaits::begin_wait(const MemoryWait& wait, const InboundReader& waiter) {
  Process& process = parts_.processes.at(waiter.process);
  ProcessTable::change(process, [&] {
    if (wait.is_inbound) {
      ++process.inbound_waits.change()[waiter.connection];
    } else {
      ++process.waits;
    }
  });
}

void MemoryWaits::end_wait(const MemoryWait& wait) {
  for (const InboundReader& waiter : wait.waiters) {
    Process* const process = parts_.processes.find(waiter.process);
    if (process == nullptr) continue;
    const Step* const step = parts_.datasets.find_step(wait.request.step);
    if (step != nullptr)
      parts_.history.add(Activity::Kind::wait_memory, *process, step->key.rule, step->name, wait.since_ms);
    ProcessTable::change(*process, [&] {
      if (!wait.is_inbound) {
        --process->waits;
        return;
      }
      auto& waits = process->inbound_waits.change();
      if (--waits.at(waiter.connection) == 0) waits.erase(waiter.connection);
    });
  }
}

void MemoryWaits::settle() {
  for (auto wait = waits_.begin(); wait != waits_.end();) {
    bool is_over = true;
    try {
      is_over = parts_.grants.try_grant(*wait);
    } catch (const Error& error) {  // the system has no memory
      parts_.grants.refuse(*wait, error.status(), error.what());
    }
    if (is_over) end_wait(*wait);
    wait = is_over ? waits_.erase(wait) : std::next(wait);
  }
}

bool MemoryWaits::spill_made(SegmentId segment, const std::string& trouble) {
  if (parts_.grants.probe_made(segment, trouble)) return true;
  const auto wait = std::ranges::find_if(waits_, [&](const MemoryWait& candidate) {
    return candidate.is_being_served() && candidate.spill.segment.id() == segment;
  });
  if (wait == waits_.end()) return false;  // given up meanwhile
  SegmentLease made = std::move(wait->spill.segment);
  if (trouble.empty()) {
    parts_.pools.of(segment).note_made(segment);
    parts_.grants.hand_over(*wait, std::move(made));
    end_wait(*wait);
    waits_.erase(wait);
  } else {
    made.release();
    parts_.grants.note_spill_refused(*wait, wait->spill.asked_bytes, trouble);
  }
  return true;
}

void MemoryWaits::drop_of(const Process& process) {
  waits_.remove_if([&](MemoryWait& wait) {
    if (!wait.concerns(process.id)) return false;
    const auto is_of_process = [&](const InboundReader& waiter) { return waiter.process == process.id; };
    auto& waiters = wait.waiters;
    waiters.erase(std::remove_if(waiters.begin(), waiters.end(), is_of_process), waiters.end());
    // Data of other nodes serves several gets; without any of them the matcher is told to give up.
    if (wait.is_inbound && wait.waiters.empty()) parts_.grants.refuse(wait, NC_EIO, "its reader has ended");
    return wait.waiters.empty();
  });
}

void MemoryWaits::drop_on(const Step& step, const std::string& reason) {
  waits_.remove_if([&](const MemoryWait& wait) {
    if (wait.request.step != step.id) return false;
    end_wait(wait);
    parts_.grants.refuse(wait, NC_EIO, reason);
    return true;
  });
}

void MemoryWaits::drop_inbound_on(const Step& step) {
  waits_.remove_if([&](const MemoryWait& wait) {
    if (!wait.is_inbound || wait.request.step != step.id) return false;
    end_wait(wait);
    parts_.grants.refuse(wait, NC_EBADID, "its readers have closed it");
    return true;
  });
}

void MemoryWaits::fail(const MemoryWait& wait, const std::string& text) {
  const auto failed =
      std::ranges::find_if(waits_, [&](const MemoryWait& candidate) { return &candidate == &wait; });
  if (parts_.grants.exceed_limit(*failed)) {
    end_wait(wait);
    waits_.erase(failed);
    return;
  }
  parts_.answers.event(parts_.processes.at(wait.waiters.front().process).name() +
                       (wait.is_inbound ? " cannot read " : " cannot write ") + text);
  parts_.grants.refuse(wait, NC_ENO_SPACE, text);
  end_wait(wait);
  waits_.erase(failed);
}

}  // namespace sluice::matcher
