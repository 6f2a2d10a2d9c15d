#include "distributed_matcher.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "divided_get.hpp"
#include "joined_plans.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/owned_extent.hpp"
#include "sluice/runtime/read_lists.hpp"

namespace sluice::runtime {

namespace {

formats::Header header_of(const matcher::StepView& view) {
  formats::Header header = formats::decode_metadata(view.header, "a header from a client");
  header.record_count = view.record_count;
  return header;
}

/// Answers under way to one index.
struct Collection {
  std::uint64_t round = 0;
  std::set<std::uint32_t> missing;  ///< matchers whose answer has not come
  std::vector<WriterRequests> writers;
  Outcome outcome;

  void take(std::uint32_t from, Collected& collected) {
    if (collected.round != round || missing.erase(from) == 0) return;
    if (collected.outcome.is_failure() && !outcome.is_failure()) outcome = std::move(collected.outcome);
    std::ranges::move(collected.writers, std::back_inserter(writers));
  }
  /// Adds everything to the index, in the order in which a single matcher would have found it.
  void add_to(OwnedRequests& index, OwnedRequests::Newer newer) {
    std::ranges::stable_sort(writers, {}, &WriterRequests::writer);
    if (outcome.is_failure()) return;
    try {
      index.add(writers, newer);
    } catch (const Error& error) {
      outcome = {error.status(), error.what()};
    }
    writers.clear();
  }
};

matcher::Partition partition_of(const matcher::StepView& view, matcher::Partition partition) {
  partition.kind = view.partition;
  return partition;
}

}  // namespace

/// The state of a step in this matcher, in each of its roles.
struct DistributedMatcher::Step {
  Step(StepViewPointer known, matcher::SegmentMemory& memory, const Seat& seat)
      : view(std::move(known)),
        header(header_of(*view)),
        partition(header, partition_of(*view, seat.partition)),
        held(memory, seat.place) {}

  StepViewPointer view;
  formats::Header header;
  matcher::StepPartition partition;
  HeldRequests held;

  /// For a published step: the part that this matcher owns.
  std::optional<OwnedRequests> index;
  bool is_complete = false;  ///< the index has all requests
  Collection collection;
  std::vector<std::function<void(Step&)>> waiting;  ///< calls that wait for the index

  /// For a growing step: the whole step, as readers see it, and as its own writers see it.
  struct Growth {
    matcher::Visibility reach = matcher::Visibility::published;
    std::optional<OwnedRequests> index;
    Collection collection;
    std::uint64_t next_round = 1;
    std::vector<WaitingGet> in_round;   ///< answered at the end of this collection
    std::vector<WaitingGet> next_gets;  ///< arrived after that collection had begun
  };
  Growth readers_sight;
  Growth writers_sight{matcher::Visibility::everything, {}, {}, 1, {}, {}};
  [[nodiscard]] Growth& growth(matcher::Visibility reach) noexcept {
    return reach == matcher::Visibility::everything ? writers_sight : readers_sight;
  }
};

/// A get whose owners have been asked.
struct DistributedMatcher::Asking {
  MatchedGet matched;
  JoinedPlans plans;
  MatchReceiver receiver;
  std::size_t missing = 0;
  Outcome outcome;
};

DistributedMatcher::DistributedMatcher(ExchangeHost& host, matcher::SegmentMemory& memory, const Seat& seat)
    : host_(host), memory_(memory), seat_(seat) {}
DistributedMatcher::~DistributedMatcher() = default;

void DistributedMatcher::take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields) {
  switch (kind) {
    case ExchangePacket::collect:
      return answer_collect(from, decode<Collect>(fields));
    case ExchangePacket::collected:
      return take_collected(from, decode<Collected>(fields));
    case ExchangePacket::match_parts:
      return answer_parts(from, decode<MatchParts>(fields));
    case ExchangePacket::matched_parts:
      return take_answer(decode<MatchedParts>(fields));
    default:
      throw Error(NC_EIO, "a packet of kind " + std::to_string(static_cast<int>(kind)));
  }
}

void give_own_plans(MatchedGet& matched, const std::function<bool(std::uint32_t writer)>& is_elsewhere) {
  std::vector<bool> is_moved;  // for each plan: some of its data is elsewhere
  for (const replay::Plan& plan : matched.plans) {
    is_moved.push_back(std::ranges::any_of(
        plan.copies, [&](const replay::Copy& copy) { return !copy.is_fill && is_elsewhere(copy.writer); }));
  }
  // The first access of each plan takes the plan itself, after all others have copied it.
  std::vector<PlanUse*> first_uses(matched.plans.size(), nullptr);
  for (PlanUse& use : matched.uses) {
    if (!is_moved[use.plan]) continue;
    if (first_uses[use.plan] == nullptr) {
      first_uses[use.plan] = &use;
      continue;
    }
    matched.plans.push_back(matched.plans[use.plan]);
    matched.element_bytes.push_back(matched.element_bytes[use.plan]);
    replay::move_logs(matched.plans.back(), use.shifts);
    use = {static_cast<std::uint32_t>(matched.plans.size() - 1), {}};
    is_moved.push_back(false);
    first_uses.push_back(nullptr);
  }
  for (PlanUse* const use : first_uses) {
    if (use != nullptr) replay::move_logs(matched.plans[use->plan], std::exchange(use->shifts, {}));
  }
}

/// The step according to `view`. State of an earlier header, or from while the step grew, is discarded.
DistributedMatcher::StepPointer DistributedMatcher::step_of(const StepViewPointer& view) {
  StepPointer& known = steps_[view->step];
  if (known != nullptr && known->view->header_revision == view->header_revision &&
      known->view->is_final == view->is_final) {
    known->view = view;
    return known;
  }
  const StepPointer old = std::exchange(known, std::make_shared<Step>(view, memory_, seat_));
  StepPointer made = known;
  if (old == nullptr) return made;
  if (!view->is_final) made->held = std::move(old->held);
  for (const matcher::Visibility reach : {matcher::Visibility::published, matcher::Visibility::everything}) {
    Step::Growth& growth = old->growth(reach);
    made->growth(reach).next_round = growth.next_round;
    for (auto* gets : {&growth.in_round, &growth.next_gets}) {
      for (WaitingGet& waiting : std::exchange(*gets, {})) match(std::move(waiting.get), waiting.receiver);
    }
  }
  return made;
}

void DistributedMatcher::forget(std::uint64_t step) {
  const auto known = steps_.extract(step);
  if (known.empty()) return;
  Step& gone = *known.mapped();
  const Outcome outcome{NC_EIO, "step " + std::to_string(step) + " has ended"};
  gone.collection.outcome = outcome;
  for (const auto& use : std::exchange(gone.waiting, {})) use(gone);
  for (const Step::Growth* growth : {&gone.readers_sight, &gone.writers_sight}) {
    for (const WaitingGet& get : growth->in_round) get.receiver(outcome, {});
    for (const WaitingGet& get : growth->next_gets) get.receiver(outcome, {});
  }
}

std::set<std::uint32_t> DistributedMatcher::holders_of(const matcher::StepView& view) const {
  std::set<std::uint32_t> holders;
  for (const matcher::LogView& log : view.logs) {
    if (const auto holder = holder_of(log)) holders.insert(host_.rank_of(*holder));
  }
  return holders;
}

/// The matchers that may have requests for the part that this one owns.
std::set<std::uint32_t> DistributedMatcher::holders_for_owner(const Step& step) const {
  const matcher::OwnedExtent owned(step.header, step.partition, seat_.rank);
  std::set<std::uint32_t> holders;
  for (const matcher::LogView& log : step.view->logs) {
    const auto holder = holder_of(log);
    if (holder && owned.may_hold(log.extent)) holders.insert(host_.rank_of(*holder));
  }
  return holders;
}

// The asker

void DistributedMatcher::match(Get get, MatchReceiver receiver) {
  const std::uint64_t step = get.step;
  auto with_view = [this, get = std::move(get), receiver = std::move(receiver)](const Outcome& outcome,
                                                                                const StepViewPointer& view) {
    if (outcome.is_failure()) return receiver(outcome, {});
    try {
      if (view->is_told_whole()) {
        ask_owners(view, get, receiver);
      } else {
        join_round(view, {get, receiver});
      }
    } catch (const Error& error) {
      receiver({error.status(), error.what()}, {});
    }
  };
  host_.view(step, std::move(with_view));
}

void DistributedMatcher::ask_owners(const StepViewPointer& view, const Get& get, MatchReceiver receiver) {
  const StepPointer kept = step_of(view);
  const Step& step = *kept;
  auto asking = std::make_unique<Asking>();
  asking->matched.view = view;
  DividedGet divided(step.partition, get);
  for (const ReadAccess& access : get.accesses) {
    const std::int64_t elements = divided.add(access);
    asking->plans.add_access(elements, formats::size_of(step.header.variable(access.varid).type));
  }
  asking->receiver = std::move(receiver);
  std::map<std::uint32_t, MatchParts> requests = divided.take();
  asking->missing = requests.size();
  const std::uint64_t ticket = next_ticket_++;
  Asking& asked = *asking_.emplace(ticket, std::move(asking)).first->second;
  if (asked.missing == 0) return finish(ticket);
  for (auto& [owner, request] : requests) {
    request.ticket = ticket;
    request.step = get.step;
    send_message(host_, owner, ExchangePacket::match_parts, request);
  }
}

void DistributedMatcher::take_answer(const MatchedParts& answer) {
  const auto found = asking_.find(answer.ticket);
  if (found == asking_.end()) throw Error(NC_EIO, "an answer to an unknown match");
  Asking& asking = *found->second;
  if (answer.outcome.is_failure()) asking.outcome = answer.outcome;
  asking.plans.add_parts(answer);
  if (--asking.missing == 0) finish(answer.ticket);
}

void DistributedMatcher::finish(std::uint64_t ticket) {
  const auto done = asking_.extract(ticket);
  Asking& asking = *done.mapped();
  try {
    JoinedPlans::Result joined = asking.plans.take();
    asking.matched.plans = std::move(joined.plans);
    asking.matched.element_bytes = std::move(joined.element_bytes);
    asking.matched.uses = std::move(joined.uses);
  } catch (const Error& error) {
    asking.outcome = {error.status(), error.what()};
  }
  asking.receiver(asking.outcome, std::move(asking.matched));
}

// The asker, for a step that grows or whose writer died (only the tables know the positions of its data). The
// asker works in rounds, and each round collects the new requests. A get that comes during a round waits for
// the next one, because the tables that were read may lack requests that it must see.

void DistributedMatcher::join_round(const StepViewPointer& view, WaitingGet waiting) {
  const StepPointer step = step_of(view);
  const bool sees_all =
      waiting.get.is_by_writer && !view->is_final && view->publish_at == matcher::PublishAt::sync;
  const matcher::Visibility reach =
      sees_all ? matcher::Visibility::everything : matcher::Visibility::published;
  Step::Growth& growth = step->growth(reach);
  growth.next_gets.push_back(std::move(waiting));
  if (growth.collection.missing.empty()) start_round(*step, reach);
}

void DistributedMatcher::start_round(Step& step, matcher::Visibility reach) {
  Step::Growth& growth = step.growth(reach);
  const bool is_from_start = !growth.index;
  if (is_from_start) growth.index.emplace(step.header);
  growth.in_round = std::exchange(growth.next_gets, {});
  growth.collection.round = growth.next_round++;
  growth.collection.missing = holders_of(*step.view);
  if (growth.collection.missing.empty()) return finish_round(step, reach);
  const Collect request{step.view->step, growth.collection.round, true, is_from_start, reach};
  for (const std::uint32_t holder : growth.collection.missing)
    send_message(host_, holder, ExchangePacket::collect, request);
}

void DistributedMatcher::finish_round(Step& step, matcher::Visibility reach) {
  Step::Growth& growth = step.growth(reach);
  // Holders may know a newer header than this asker.
  growth.collection.add_to(*growth.index, OwnedRequests::Newer::is_left_out);
  const StepViewPointer view = step.view;
  for (const WaitingGet& waiting : std::exchange(growth.in_round, {})) {
    Outcome outcome = growth.collection.outcome;
    MatchedGet matched;
    matched.view = view;
    matched.records_end = growth.index->records_end();
    const bool may_wait =
        view->publish_at == matcher::PublishAt::write && !view->is_final && !waiting.get.is_by_writer;
    try {
      for (const ReadAccess& access : waiting.get.accesses) {
        if (outcome.is_failure()) break;
        const auto reads = slabs_of(list_of(waiting.get, access));
        if (may_wait && matched.unwritten_variable < 0 && !growth.index->are_put(access.varid, reads))
          matched.unwritten_variable = access.varid;
        matched.plans.push_back(growth.index->plan(access.varid, reads));
        matched.element_bytes.push_back(formats::size_of(step.header.variable(access.varid).type));
        matched.uses.push_back({static_cast<std::uint32_t>(matched.uses.size()), {}});
      }
    } catch (const Error& error) {
      outcome = {error.status(), error.what()};
    }
    waiting.receiver(outcome, std::move(matched));
  }
  if (!growth.next_gets.empty()) start_round(step, reach);
}

// The owner

void DistributedMatcher::answer_parts(std::uint32_t to, const MatchParts& request) {
  host_.view(request.step, [this, to, request](const Outcome& known, const StepViewPointer& view) {
    const auto refuse = [&](const Outcome& outcome) {
      send_message(host_, to, ExchangePacket::matched_parts, MatchedParts{request.ticket, outcome, {}, {}});
    };
    if (known.is_failure()) return refuse(known);
    if (!view->is_told_whole()) return refuse({NC_EIO, "parts of an unpublished step were requested"});
    with_index(*step_of(view), [this, to, request](Step& step) {
      MatchedParts answer{request.ticket, step.collection.outcome, {}, {}};
      try {
        if (!answer.outcome.is_failure())
          answer = step.index->plan_parts(step.partition, seat_.rank, request);
      } catch (const Error& error) {
        answer = {request.ticket, {error.status(), error.what()}, {}, {}};
      }
      send_message(host_, to, ExchangePacket::matched_parts, answer);
    });
  });
}

/// Calls `use` when the index of a published step is complete, or cannot be.
void DistributedMatcher::with_index(Step& step, std::function<void(Step&)> use) {
  if (step.is_complete) return use(step);
  step.waiting.push_back(std::move(use));
  if (step.index) return;  // under way
  step.index.emplace(step.header);
  step.collection.missing = holders_for_owner(step);
  if (step.collection.missing.empty()) return finish_index(step);
  for (const std::uint32_t holder : step.collection.missing) {
    send_message(host_, holder, ExchangePacket::collect, Collect{step.view->step, 0, false, false, {}});
  }
}

void DistributedMatcher::take_collected(std::uint32_t from, Collected collected) {
  const auto found = steps_.find(collected.step);
  if (found == steps_.end()) return;       // forgotten meanwhile
  const StepPointer kept = found->second;  // waiting calls may replace the step
  Step& step = *kept;
  const bool is_whole = step.view->is_told_whole();
  Collection& collection = is_whole ? step.collection : step.growth(collected.reach).collection;
  if (!collection.missing.contains(from) || collection.round != collected.round) return;
  collection.take(from, collected);
  if (!collection.missing.empty()) return;
  if (is_whole) {
    finish_index(step);
  } else {
    finish_round(step, collected.reach);
  }
}

void DistributedMatcher::finish_index(Step& step) {
  step.collection.add_to(*step.index, OwnedRequests::Newer::is_damage);
  step.is_complete = true;
  for (const auto& use : std::exchange(step.waiting, {})) use(step);
}

// The holder

void DistributedMatcher::answer_collect(std::uint32_t to, const Collect& request) {
  host_.view(request.step, [this, to, request](const Outcome& known, const StepViewPointer& view) {
    Collected answer{request.step, request.round, request.reach, known, {}};
    try {
      if (!known.is_failure()) {
        const StepPointer step = step_of(view);
        answer.writers = request.is_growing
                             ? step->held.collect_new(*view, {to, request.reach}, request.is_from_start)
                             : step->held.collect(*view, step->partition, to);
      }
    } catch (const Error& error) {
      answer.outcome = {error.status(), error.what()};
    }
    send_message(host_, to, ExchangePacket::collected, answer);
  });
}

}  // namespace sluice::runtime
