// Who gets segments: at once, when there is memory again, or on disk.
#include <algorithm>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

void Registry::need_segment(const Ticket& ticket, ProcessId process, const SegmentRequest& request) {
  Process& caller = processes_.at(process);
  const Step& step = *writing_membership(caller, request.step).group->step;
  if (step.state != StepState::in_progress) throw Error(NC_EIO, step.reason);
  if (request.use == SegmentUse::control) throw Error(NC_EINVAL, caller.name() + " asks for a control block");
  if (!request.log.metadata_path.empty()) return grant_log(ticket, caller, request);
  const std::uint32_t node = caller.place.node;
  if (!spills() && request.bytes > room_for(node, MemoryKind::spare)) {
    throw Error(NC_ENO_SPACE, memory_text(node, request.bytes) + " for " + quoted(step.key) +
                                  " is more than there is at all: raise staging.memory");
  }
  MemoryWait wait{ticket, request, caller.place, {{process, 0}}, now_ms_()};
  if (request.is_ahead) return grant_ahead(std::move(wait));
  serve(std::move(wait));
}

/// What may not be needed in the end must not keep others waiting.
void Registry::grant_ahead(MemoryWait wait) {
  const std::uint32_t node = wait.place.node;
  const bool is_plenty = wait.request.bytes <= pool(node).limit_bytes() / 2 &&
                         needed_bytes(node) <= pool(node).limit_bytes() / 2 - wait.request.bytes;
  auto segment = is_plenty ? take(wait) : std::nullopt;
  if (!segment) return refuse(wait, NC_ENO_SPACE, "there is no memory for what is not put yet");
  hand_over(wait, std::move(*segment));
}

void Registry::lease_landing(const Ticket& ticket, StepId id, MatcherPlace place, const LandingSize& size,
                             std::optional<LandingReader> reader) {
  const Step& landed = step(id);
  if (landed.consumed_place) throw Error(NC_EBADID, "nobody has step " + std::to_string(id) + " open");
  MemoryWait wait{ticket, {id, SegmentUse::data, size.bytes, size.wanted_bytes}, place, {}, now_ms_(), true};
  if (size.is_ahead) {
    auto segment = take(place, {std::max(size.bytes, size.wanted_bytes), SegmentUse::data, {}, place.index},
                        MemoryKind::spare);
    if (!segment) throw Error(NC_ENO_SPACE, "there is no memory for what nobody waits for yet");
    return hand_over(wait, std::move(*segment));
  }
  if (!reader || processes_.find(reader->process) == nullptr) throw Error(NC_EBADID, "its reader has ended");
  wait.waiters.push_back(*reader);
  serve(std::move(wait));
}

void Registry::join_landing_wait(StepId id, MatcherPlace place, const LandingReader& reader) {
  const auto wait = std::ranges::find_if(memory_waits_, [&](const MemoryWait& candidate) {
    return candidate.is_landing && candidate.request.step == id && candidate.place == place;
  });
  if (processes_.find(reader.process) == nullptr || wait == memory_waits_.end()) return;
  wait->waiters.push_back(reader);
  begin_wait(*wait, reader);
  fail_waits();
}

bool Registry::MemoryWait::concerns(ProcessId process) const noexcept {
  return std::ranges::find(waiters, process, &LandingReader::process) != waiters.end();
}

void Registry::serve(MemoryWait wait) {
  if (try_grant(wait)) return;
  for (const LandingReader& waiter : wait.waiters) begin_wait(wait, waiter);
  memory_waits_.push_back(std::move(wait));
  advance_memory();
}

void Registry::begin_wait(const MemoryWait& wait, const LandingReader& waiter) {
  Process& process = processes_.at(waiter.process);
  ProcessTable::change(process, [&] {
    if (wait.is_landing) {
      ++process.landing_waits[waiter.connection];
    } else {
      ++process.waits;
    }
  });
}

void Registry::end_wait(const MemoryWait& wait) {
  for (const LandingReader& waiter : wait.waiters) {
    Process* const process = processes_.find(waiter.process);
    if (process == nullptr) continue;
    ProcessTable::change(*process, [&] {
      if (!wait.is_landing) {
        --process->waits;
      } else if (--process->landing_waits.at(waiter.connection) == 0) {
        process->landing_waits.erase(waiter.connection);
      }
    });
  }
}

void Registry::refuse(const MemoryWait& wait, int status, const std::string& text) {
  if (wait.is_landing) return answers_.lease_refused(wait.ticket, status, text);
  answers_.refused(wait.ticket, status, text);
}

/// True: it was answered.
bool Registry::try_grant(MemoryWait& wait) {
  if (wait.is_for_disk()) return offer_room(wait);
  if (wait.is_being_served()) return false;
  const std::uint32_t node = wait.place.node;
  for (;;) {
    auto segment = take(wait);
    if (!segment) segment = spill(wait);
    if (segment) {
      hand_over(wait, std::move(*segment));
      return true;
    }
    // What is given back may be enough.
    if (wait.is_being_served() || pool(node).is_giving_disk_back() || !erase_doubtful(node)) return false;
  }
}

std::optional<SegmentLease> Registry::take(const MemoryWait& wait) {
  return wait.is_landing ? take_for_landing(wait) : take_for_put(wait);
}

std::optional<SegmentLease> Registry::take_for_put(const MemoryWait& wait) {
  const SegmentRequest& request = wait.request;
  const auto kind = request.use == SegmentUse::data ? MemoryKind::spare : MemoryKind::table;
  const auto take_bytes = [&](std::uint64_t bytes) {
    return take(wait.place, {bytes, request.use, wait.waiters.front().process, wait.place.index}, kind);
  };
  auto segment = take_bytes(std::max(request.bytes, request.wanted_bytes));
  if (!segment && request.wanted_bytes > request.bytes) segment = take_bytes(request.bytes);
  return segment;
}

std::optional<SegmentLease> Registry::take_for_landing(const MemoryWait& wait) {
  const SegmentRequest& request = wait.request;
  const auto take_bytes = [&](std::uint64_t bytes, MemoryKind kind) {
    return take(wait.place, {bytes, SegmentUse::data, ProcessId{}, wait.place.index}, kind);
  };
  auto segment = take_bytes(std::max(request.bytes, request.wanted_bytes), MemoryKind::spare);
  if (!segment) segment = take_bytes(request.bytes, MemoryKind::needed);
  return segment;
}

/// A segment on disk, where memory has no room. None: the disk is full, or it is being made (`wait.spill`).
std::optional<SegmentLease> Registry::spill(MemoryWait& wait) {
  if (!spills()) return std::nullopt;
  const std::uint32_t node = wait.place.node;
  SegmentPool& memory = pool(node);
  while (erase_spilled(node, false)) {
  }
  for (;;) {
    SpillAttempt& attempt = wait.spill;
    if (attempt.given_back != memory.spills_given_back()) attempt.refused_bytes = ~std::uint64_t{0};
    std::uint64_t bytes = std::max(wait.request.bytes, wait.request.wanted_bytes);
    if (bytes >= attempt.refused_bytes) bytes = wait.request.bytes;
    if (bytes >= attempt.refused_bytes) return std::nullopt;
    const ProcessId process = wait.waiters.empty() ? ProcessId{} : wait.waiters.front().process;
    try {
      auto [segment, is_made] = memory.spill({bytes, wait.request.use, process, wait.place.index});
      if (is_made) return std::move(segment);
      attempt.segment = std::move(segment);
      attempt.asked_bytes = bytes;
      return std::nullopt;
    } catch (const Error& error) {
      note_spill_refused(wait, bytes, error.what());
    }
  }
}

/// It is asked for again when some of the disk has been given back; what is consumed goes at once.
void Registry::note_spill_refused(MemoryWait& wait, std::uint64_t bytes, const std::string& trouble) {
  const std::uint32_t node = wait.place.node;
  wait.spill.refused_bytes = bytes;
  wait.spill.given_back = pool(node).spills_given_back();
  wait.spill.trouble = trouble;
  while (erase_spilled(node, true)) {
  }
}

void Registry::spill_made(SegmentId segment, const std::string& trouble) {
  const auto wait = std::ranges::find_if(memory_waits_, [&](const MemoryWait& candidate) {
    return candidate.is_being_served() && candidate.spill.segment.id() == segment;
  });
  if (wait == memory_waits_.end()) return;  // given up meanwhile
  SegmentLease made = std::move(wait->spill.segment);
  if (trouble.empty()) {
    pool(node_of(segment)).note_made(segment);
    hand_over(*wait, std::move(made));
    end_wait(*wait);
    memory_waits_.erase(wait);
  } else {
    made.release();
    note_spill_refused(*wait, wait->spill.asked_bytes, trouble);
  }
  advance_memory();
}

void Registry::spill_gone(SegmentId segment) {
  pool(node_of(segment)).note_gone(segment);
  advance_memory();
}

/// Gives up the oldest consumed step with data on the node's disk; only if asked for, one that its rule has
/// no other of. False when there is none.
bool Registry::erase_spilled(std::uint32_t node, bool even_last) {
  Step* const first =
      even_last ? consumed_.first_on(node, Medium::disk) : consumed_.first_spare_on(node, Medium::disk);
  if (first == nullptr) return false;
  erase(*first);
  return true;
}

void Registry::hand_over(MemoryWait& wait, SegmentLease segment) {
  if (is_spilled(segment.id())) note_spilled(*steps_.at(wait.request.step), segment.bytes());
  if (wait.is_landing) {
    pool(wait.place.node).note_landing(segment.id());
    return answers_.leased(wait.ticket,
                           steps_.at(wait.request.step)->landings.emplace_back(std::move(segment)));
  }
  const auto [group, rank] = membership(processes_.at(wait.waiters.front().process), wait.request.step, true);
  WriteLog& log = *group->step->logs[group->step->first_own_log + rank];
  auto& segments = wait.request.use == SegmentUse::table ? log.tables : log.data;
  segments.push_back(std::make_shared<SegmentLease>(std::move(segment)));
  if (wait.request.is_ahead && wait.request.use == SegmentUse::data) log.ahead = segments.back()->id();
  ++group->step->revision;
  answers_.granted(wait.ticket, *segments.back());
}

void Registry::note_spilled(const Step& step, std::uint64_t bytes) {
  Dataset& dataset = datasets_[step.key];
  if (dataset.bytes_spilled == 0)
    answers_.event(quoted(step.key) + " goes on in " + spill_directory_ + ": staging.memory is used up");
  dataset.bytes_spilled += bytes;
}

}  // namespace sluice::matcher
