#include "node_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "node_exchange_state.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// Of landing segments; a larger part gets a segment of its own.
constexpr std::uint64_t most_segment_bytes = 64U << 20;
constexpr std::uint64_t least_segment_bytes = 1U << 20;

Outcome gone(std::uint64_t step) {
  return {NC_EIO, "step " + std::to_string(step) + " is no more"};
}

}  // namespace

NodeExchange::NodeExchange(Environment environment) : environment_(std::move(environment)) {}
NodeExchange::~NodeExchange() = default;

NodeExchange::Step& NodeExchange::step_of(const StepViewPointer& view) {
  std::unique_ptr<Step>& known = steps_[view->step];
  if (known == nullptr) known = std::make_unique<Step>(view, environment_.matchers_of_node);
  return *known;
}

void NodeExchange::land(MatchedGet matched, LandReceiver receiver, std::uint64_t reader) {
  Step& step = step_of(matched.view);
  auto waiting = std::make_shared<Waiting>();
  waiting->matched = std::move(matched);
  waiting->receiver = std::move(receiver);
  waiting->reader = {environment_.rank_of(environment_.place), reader};
  enqueue(step, std::move(waiting));
}

/// What is fetched ahead never waits behind a get, which may wait for memory: those who open the step are
/// held back meanwhile, and the registry does not know that they wait.
void NodeExchange::enqueue(Step& step, WaitingPointer waiting) {
  if (waiting->is_ahead && !std::ranges::all_of(step.queue, &Waiting::is_ahead)) {
    waiting->outcome = {NC_EIO, "gets are waiting already"};
    return finish(*waiting);
  }
  if (step.is_leasing && waiting->reader.connection != 0 && environment_.join_lease)
    environment_.join_lease(step.id, waiting->reader);
  step.queue.push_back(std::move(waiting));
  if (step.queue.size() == 1) start_next(step);
}

void NodeExchange::fetch_ahead(const StepViewPointer& view, std::vector<WantedPartPointer> wanted) {
  Step& step = step_of(view);
  if (step.is_fetching_ahead) return;
  step.is_fetching_ahead = true;
  auto waiting = std::make_shared<Waiting>();
  waiting->matched.view = view;
  waiting->wanted = std::move(wanted);
  waiting->is_ahead = true;
  waiting->reader = {environment_.rank_of(environment_.place), 0};
  waiting->receiver = [this, id = view->step](const Outcome&, const MatchedGet&, const auto&) {
    const auto known = steps_.find(id);
    if (known == steps_.end()) return;
    known->second->is_fetching_ahead = false;
    for (const auto& then : std::exchange(known->second->after_ahead, {})) then();
  };
  enqueue(step, std::move(waiting));
}

void NodeExchange::when_ahead(std::uint64_t step, std::function<void()> then) {
  const auto known = steps_.find(step);
  if (known == steps_.end() || !known->second->is_fetching_ahead) return then();
  known->second->after_ahead.push_back(std::move(then));
}

std::vector<matcher::LogRange> NodeExchange::landed(std::uint64_t step,
                                                    std::span<const WantedPartPointer> wanted) const {
  const auto known = steps_.find(step);
  if (known == steps_.end()) return {};
  Landing::PartIds found;
  for (const WantedPartPointer& part : wanted) known->second->landing.find_landed(*part, found);
  std::vector<matcher::LogRange> ranges;
  for (const LandingPart& part : known->second->landing.parts(found))
    ranges.insert(ranges.end(), part.ranges.begin(), part.ranges.end());
  return ranges;
}

Landing::SourceOf NodeExchange::source_of(const Waiting& waiting) const {
  return [this, &waiting](std::uint32_t writer) -> std::optional<matcher::MatcherPlace> {
    const matcher::StepView& view = *waiting.matched.view;
    if (writer >= view.logs.size()) {
      if (!waiting.wanted.empty()) return std::nullopt;
      throw Error(NC_EIO, "a plan reads a log that is not there");
    }
    const auto holder = holder_of(view.logs[writer]);
    if (!holder || holder->node == environment_.place.node) return std::nullopt;
    return *holder;
  };
}

void NodeExchange::find_parts(Step& step, Waiting& waiting) {
  MatchedGet& matched = waiting.matched;
  const Landing::SourceOf source = source_of(waiting);
  give_own_plans(matched, [&](std::uint32_t writer) { return source(writer).has_value(); });
  for (std::size_t i = 0; i < matched.plans.size(); ++i)
    step.landing.add(matched.plans[i], matched.element_bytes[i], source, waiting.needed);
  for (const WantedPartPointer& wanted : waiting.wanted) step.landing.add(wanted, source, waiting.needed);
  if (!waiting.is_for_neighbour(environment_.rank_of(environment_.place))) return;
  for (const Landing::PartId id : waiting.needed) {
    if (!is_own(*step.landing.find(id)))
      throw Error(NC_EIO, "the wrong matcher of the node was asked for data");
  }
}

/// One get at a time is given places, so that none is fetched twice.
void NodeExchange::start_next(Step& step) {
  const WaitingPointer waiting = step.queue.front();
  try {
    find_parts(step, *waiting);
  } catch (const Error& error) {
    waiting->outcome = {error.status(), error.what()};
    return get_parts(step, waiting);
  }
  std::deque<Landing::PartId> new_parts;
  for (const Landing::PartId id : waiting->needed) {
    const LandingPart& part = *step.landing.find(id);
    if (!part.is_placed && is_own(part)) new_parts.push_back(id);
  }
  // What comes from one matcher lands side by side.
  std::ranges::stable_sort(new_parts, {}, [&](Landing::PartId id) { return step.landing.find(id)->source; });
  place_parts(step, waiting, std::move(new_parts));
}

/// Gives the parts places, as far as there is room; asks for a segment and goes on when it has come.
// `waiting` is a copy: what is asked for here may come at once, and the step forget the get.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void NodeExchange::place_parts(Step& step, WaitingPointer waiting, std::deque<Landing::PartId> parts) {
  while (!parts.empty()) {
    LandingPart& part = *step.landing.find(parts.front());
    matcher::LogRange& range = part.ranges.front();
    if (range.length_bytes > step.segment.bytes - step.segment_used) break;
    range.segment = step.segment.segment;
    range.segment_offset = step.segment_used;
    part.is_placed = true;
    step.segment_used = std::min(step.segment.bytes, step.segment_used + aligned_landing(range.length_bytes));
    parts.pop_front();
  }
  if (parts.empty()) {
    get_parts(step, waiting);
  } else {
    lease_for(step, waiting, std::move(parts));
  }
}

void NodeExchange::lease_for(Step& step, const WaitingPointer& waiting, std::deque<Landing::PartId> parts) {
  std::uint64_t bytes = 0;
  for (const Landing::PartId id : parts)
    bytes += aligned_landing(step.landing.find(id)->ranges.front().length_bytes);
  const std::uint64_t next_bytes =
      aligned_landing(step.landing.find(parts.front())->ranges.front().length_bytes);
  const std::uint64_t wanted =
      std::max(next_bytes, std::clamp(bytes, least_segment_bytes, most_segment_bytes));
  const std::uint64_t id = step.id;
  step.is_leasing = true;
  const auto go_on = [this, id, waiting, parts = std::move(parts)](const Outcome& outcome,
                                                                   const matcher::LogSegment& segment) {
    const auto known = steps_.find(id);
    if (known == steps_.end()) return;  // forgotten; the get has been told
    Step& step = *known->second;
    step.is_leasing = false;
    if (outcome.is_failure()) {
      waiting->outcome = outcome;
      return get_parts(step, waiting);
    }
    step.segment = segment;
    step.segment_used = 0;
    place_parts(step, waiting, parts);
  };
  environment_.lease({id, next_bytes, wanted, waiting->is_ahead, waiting->reader}, go_on);
  if (!environment_.join_lease) return;
  const auto known = steps_.find(id);
  if (known == steps_.end() || !known->second->is_leasing) return;
  for (const WaitingPointer& other : known->second->queue) {
    if (other != waiting && other->reader.connection != 0) environment_.join_lease(id, other->reader);
  }
}

/// Asks for what was given a place, and others of the node for what they bring; lets the next get be served.
void NodeExchange::get_parts(Step& step, const WaitingPointer& waiting) {
  if (waiting->outcome.is_failure()) {  // what is new of it does not come
    for (const Landing::PartId id : waiting->needed) {
      const LandingPart* const part = step.landing.find(id);
      if (part != nullptr && !part->has_landed && !step.waiting.contains(id)) step.landing.drop(id);
    }
    waiting->needed.clear();
  }
  std::map<matcher::MatcherPlace, std::vector<Landing::PartId>> by_source;
  std::map<std::uint32_t, std::vector<Landing::PartId>> by_neighbour;
  for (const Landing::PartId id : waiting->needed) {
    LandingPart& part = *step.landing.find(id);
    part.has_landed = part.has_landed || part.wanted->bytes == 0;  // of nothing, everything is here
    if (part.has_landed) continue;
    ++waiting->missing;
    std::vector<WaitingPointer>& others = step.waiting[id];
    // A neighbour is asked for each get: it may have to wait for memory, and then for all of their readers.
    if (!is_own(part)) {
      by_neighbour[part.bringer].push_back(id);
    } else if (others.empty()) {
      by_source[part.source].push_back(id);
    }
    others.push_back(waiting);
  }
  step.queue.pop_front();
  for (const auto& [source, parts] : by_source) fetch_parts(step, source, parts);
  for (const auto& [neighbour, parts] : by_neighbour) ask_neighbour(step, neighbour, waiting, parts);
  const bool is_here = waiting->missing == 0;
  if (!step.queue.empty()) start_next(step);
  if (is_here) finish(*waiting);
}

/// Who is told may end the step: of those that are told behind it, none has its data any more.
void NodeExchange::finish(Waiting& waiting) {
  const std::uint64_t step = waiting.matched.view->step;
  const auto known = steps_.find(step);
  std::vector<LandingPart> parts;
  if (!waiting.outcome.is_failure() && known == steps_.end()) waiting.outcome = gone(step);
  if (!waiting.outcome.is_failure()) parts = known->second->landing.parts(waiting.needed);
  std::exchange(waiting.receiver, nullptr)(waiting.outcome, std::move(waiting.matched), parts);
}

void NodeExchange::count_down(Waiting& waiting) {
  if (--waiting.missing == 0 && waiting.receiver) finish(waiting);
}

void NodeExchange::take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields) {
  switch (kind) {
    case ExchangePacket::fetch_over:
      return end_fetch(from, decode<FetchOver>(fields));
    case ExchangePacket::fetch_failed:
      return take_failure(decode<FetchFailed>(fields));
    case ExchangePacket::fetch:
      return answer_fetch(from, decode<Fetch>(fields));
    case ExchangePacket::bring:
      return answer_bring(from, decode<Bring>(fields));
    case ExchangePacket::brought:
      return take_brought(decode<Brought>(fields));
    default:
      return;
  }
}

void NodeExchange::land_part(std::uint64_t step_id, Landing::PartId id) {
  const auto known = steps_.find(step_id);
  if (known == steps_.end()) return;
  Step& step = *known->second;
  step.landing.find(id)->has_landed = true;
  const auto waiting = step.waiting.extract(id);
  if (waiting.empty()) return;
  for (const WaitingPointer& get : waiting.mapped()) count_down(*get);
}

void NodeExchange::fail_part(Step& step, Landing::PartId id, const Outcome& outcome) {
  step.landing.drop(id);
  const auto waiting = step.waiting.extract(id);
  if (waiting.empty()) return;
  for (const WaitingPointer& get : waiting.mapped()) {
    if (!get->outcome.is_failure()) get->outcome = outcome;
    count_down(*get);
  }
}

void NodeExchange::forget(std::uint64_t id) {
  growing_.erase(id);
  end_fetches_of(id);
  std::erase_if(asking_, [&](const auto& entry) { return entry.second.step == id; });
  const auto known = steps_.extract(id);
  if (known.empty()) return;
  for (const auto& then : std::exchange(known.mapped()->after_ahead, {})) then();
  std::vector<WaitingPointer> waiting(known.mapped()->queue.begin(), known.mapped()->queue.end());
  for (const auto& [part, gets] : known.mapped()->waiting)
    std::ranges::copy(gets, std::back_inserter(waiting));
  for (const WaitingPointer& get : waiting) {
    get->outcome = gone(id);
    if (get->receiver) finish(*get);
  }
}

void NodeExchange::forget_all() {
  while (!steps_.empty()) forget(steps_.begin()->first);
}

}  // namespace sluice::runtime
