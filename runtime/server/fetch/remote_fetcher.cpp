#include "remote_fetcher.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "remote_fetcher_state.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// Limit of an inbound segment; a larger part gets a segment of its own.
constexpr std::uint64_t most_segment_bytes = 64U << 20;
constexpr std::uint64_t least_segment_bytes = 1U << 20;

Outcome gone(std::uint64_t step) {
  return {NC_EIO, "step " + std::to_string(step) + " has ended"};
}

}  // namespace

RemoteFetcher::RemoteFetcher(FetchHost& host, matcher::SegmentMemory& memory, const Seat& seat)
    : host_(host),
      seat_(seat),
      client_(host, sent_specs_, *this),
      server_(host, memory, seat.place, known_specs_) {}
RemoteFetcher::~RemoteFetcher() = default;

RemoteFetcher::Step& RemoteFetcher::step_of(const StepViewPointer& view) {
  std::unique_ptr<Step>& known = steps_[view->step];
  if (known == nullptr) known = std::make_unique<Step>(view, seat_.matchers_of_node);
  return *known;
}

void RemoteFetcher::land(MatchedGet matched, LandReceiver receiver, std::uint64_t reader) {
  Step& step = step_of(matched.view);
  auto waiting = std::make_shared<Waiting>();
  waiting->matched = std::move(matched);
  waiting->receiver = std::move(receiver);
  waiting->reader = {own_rank(), reader};
  enqueue(step, std::move(waiting));
}

/// A fetch ahead never waits behind a get, which may wait for memory. Processes that open the step are held
/// back meanwhile, and the registry does not know that they wait.
void RemoteFetcher::enqueue(Step& step, WaitingPointer waiting) {
  if (waiting->is_ahead && !std::ranges::all_of(step.queue, &Waiting::is_ahead)) {
    waiting->outcome = {NC_EIO, "other gets are waiting for the step"};
    return finish(*waiting);
  }
  if (step.is_leasing && waiting->reader.connection != 0) host_.join_lease(step.id, waiting->reader);
  step.queue.push_back(std::move(waiting));
  if (step.queue.size() == 1) start_next(step);
}

void RemoteFetcher::fetch_ahead(const StepViewPointer& view, std::vector<FetchSpecPointer> wanted) {
  Step& step = step_of(view);
  if (step.is_fetching_ahead) return;
  step.is_fetching_ahead = true;
  auto waiting = std::make_shared<Waiting>();
  waiting->matched.view = view;
  waiting->wanted = std::move(wanted);
  waiting->is_ahead = true;
  waiting->reader = {own_rank(), 0};
  waiting->receiver = [this, id = view->step](const Outcome&, const MatchedGet&, const auto&) {
    const auto known = steps_.find(id);
    if (known == steps_.end()) return;
    known->second->is_fetching_ahead = false;
    for (const auto& then : std::exchange(known->second->after_ahead, {})) then();
  };
  enqueue(step, std::move(waiting));
}

void RemoteFetcher::when_ahead(std::uint64_t step, std::function<void()> then) {
  const auto known = steps_.find(step);
  if (known == steps_.end() || !known->second->is_fetching_ahead) return then();
  known->second->after_ahead.push_back(std::move(then));
}

std::vector<matcher::LogRange> RemoteFetcher::landed(std::uint64_t step,
                                                     std::span<const FetchSpecPointer> wanted) const {
  const auto known = steps_.find(step);
  if (known == steps_.end()) return {};
  InboundStage::PartIds found;
  for (const FetchSpecPointer& part : wanted) known->second->inbound.find_landed(*part, found);
  std::vector<matcher::LogRange> ranges;
  for (const InboundPart& part : known->second->inbound.parts(found))
    ranges.insert(ranges.end(), part.ranges.begin(), part.ranges.end());
  return ranges;
}

InboundStage::SourceOf RemoteFetcher::source_of(const Waiting& waiting) const {
  return [this, &waiting](std::uint32_t writer) -> std::optional<matcher::MatcherPlace> {
    const matcher::StepView& view = *waiting.matched.view;
    if (writer >= view.logs.size()) {
      if (!waiting.wanted.empty()) return std::nullopt;
      throw Error(NC_EIO, "a plan reads a missing log");
    }
    const auto holder = holder_of(view.logs[writer]);
    if (!holder || holder->node == seat_.place.node) return std::nullopt;
    return *holder;
  };
}

void RemoteFetcher::find_parts(Step& step, Waiting& waiting) {
  MatchedGet& matched = waiting.matched;
  const InboundStage::SourceOf source = source_of(waiting);
  give_own_plans(matched, [&](std::uint32_t writer) { return source(writer).has_value(); });
  for (std::size_t i = 0; i < matched.plans.size(); ++i)
    step.inbound.add(matched.plans[i], matched.element_bytes[i], source, waiting.needed);
  for (const FetchSpecPointer& wanted : waiting.wanted) step.inbound.add(wanted, source, waiting.needed);
  if (!waiting.is_for_neighbour(own_rank())) return;
  for (const InboundStage::PartId id : waiting.needed) {
    if (!is_own(*step.inbound.find(id)))
      throw Error(NC_EIO, "data was requested from the wrong matcher of the node");
  }
}

/// Only one get at a time gets places, so that no part is fetched twice.
void RemoteFetcher::start_next(Step& step) {
  const WaitingPointer waiting = step.queue.front();
  try {
    find_parts(step, *waiting);
  } catch (const Error& error) {
    waiting->outcome = {error.status(), error.what()};
    return get_parts(step, waiting);
  }
  std::deque<InboundStage::PartId> new_parts;
  for (const InboundStage::PartId id : waiting->needed) {
    const InboundPart& part = *step.inbound.find(id);
    if (!part.is_placed && is_own(part)) new_parts.push_back(id);
  }
  // Parts from one matcher arrive side by side.
  std::ranges::stable_sort(new_parts, {},
                           [&](InboundStage::PartId id) { return step.inbound.find(id)->source; });
  place_parts(step, waiting, std::move(new_parts));
}

/// Gives the parts places, as far as there is memory. Otherwise requests a segment and continues when it
/// comes.
// `waiting` is a copy: the requested segment may come at once, and the step may forget the get.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void RemoteFetcher::place_parts(Step& step, WaitingPointer waiting, std::deque<InboundStage::PartId> parts) {
  while (!parts.empty()) {
    InboundPart& part = *step.inbound.find(parts.front());
    matcher::LogRange& range = part.ranges.front();
    if (range.length_bytes > step.segment.bytes - step.segment_used) break;
    range.segment = step.segment.segment;
    range.segment_offset = step.segment_used;
    part.is_placed = true;
    step.segment_used = std::min(step.segment.bytes, step.segment_used + aligned_inbound(range.length_bytes));
    parts.pop_front();
  }
  if (parts.empty()) {
    get_parts(step, waiting);
  } else {
    lease_for(step, waiting, std::move(parts));
  }
}

void RemoteFetcher::lease_for(Step& step, const WaitingPointer& waiting,
                              std::deque<InboundStage::PartId> parts) {
  std::uint64_t bytes = 0;
  for (const InboundStage::PartId id : parts)
    bytes += aligned_inbound(step.inbound.find(id)->ranges.front().length_bytes);
  const std::uint64_t next_bytes =
      aligned_inbound(step.inbound.find(parts.front())->ranges.front().length_bytes);
  const std::uint64_t wanted =
      std::max(next_bytes, std::clamp(bytes, least_segment_bytes, most_segment_bytes));
  const std::uint64_t id = step.id;
  step.is_leasing = true;
  const auto go_on = [this, id, waiting, parts = std::move(parts)](const Outcome& outcome,
                                                                   const matcher::LogSegment& segment) {
    const auto known = steps_.find(id);
    if (known == steps_.end()) return;  // forgotten; the get has been answered
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
  host_.lease({id, next_bytes, wanted, waiting->is_ahead, waiting->reader}, go_on);
  const auto known = steps_.find(id);
  if (known == steps_.end() || !known->second->is_leasing) return;
  for (const WaitingPointer& other : known->second->queue) {
    if (other != waiting && other->reader.connection != 0) host_.join_lease(id, other->reader);
  }
}

/// Requests the parts that have places, and asks other matchers of the node for their parts. Then the next
/// get can be served.
void RemoteFetcher::get_parts(Step& step, const WaitingPointer& waiting) {
  if (waiting->outcome.is_failure()) {  // its new parts do not come
    for (const InboundStage::PartId id : waiting->needed) {
      const InboundPart* const part = step.inbound.find(id);
      if (part != nullptr && !part->has_landed && !step.waiting.contains(id)) step.inbound.drop(id);
    }
    waiting->needed.clear();
  }
  std::map<matcher::MatcherPlace, std::vector<InboundStage::PartId>> by_source;
  std::map<std::uint32_t, std::vector<InboundStage::PartId>> by_neighbour;
  for (const InboundStage::PartId id : waiting->needed) {
    InboundPart& part = *step.inbound.find(id);
    part.has_landed = part.has_landed || part.wanted->bytes == 0;  // an empty part is complete
    if (part.has_landed) continue;
    ++waiting->missing;
    std::vector<WaitingPointer>& others = step.waiting[id];
    // Ask a neighbour for each get: the neighbour may have to wait for memory, on behalf of all readers.
    if (!is_own(part)) {
      by_neighbour[part.node_fetcher].push_back(id);
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

void RemoteFetcher::fetch_parts(Step& step, matcher::MatcherPlace source,
                                const std::vector<InboundStage::PartId>& parts) {
  std::vector<FetchClient::Part> wanted;
  for (const InboundStage::PartId id : parts) {
    const InboundPart& part = *step.inbound.find(id);
    wanted.push_back({id, part.wanted, part.ranges.front()});
  }
  client_.fetch(step.id, source, wanted);
}

/// A receiver may end the step: the waiting gets after it then have no data.
void RemoteFetcher::finish(Waiting& waiting) {
  const std::uint64_t step = waiting.matched.view->step;
  const auto known = steps_.find(step);
  std::vector<InboundPart> parts;
  if (!waiting.outcome.is_failure() && known == steps_.end()) waiting.outcome = gone(step);
  if (!waiting.outcome.is_failure()) parts = known->second->inbound.parts(waiting.needed);
  std::exchange(waiting.receiver, nullptr)(waiting.outcome, std::move(waiting.matched), parts);
}

void RemoteFetcher::count_down(Waiting& waiting) {
  if (--waiting.missing == 0 && waiting.receiver) finish(waiting);
}

void RemoteFetcher::take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields) {
  switch (kind) {
    case ExchangePacket::fetch_failed:
      return client_.take_failure(decode<FetchFailed>(fields));
    case ExchangePacket::fetch:
      return server_.answer(from, decode<Fetch>(fields));
    case ExchangePacket::bring:
      return answer_bring(from, decode<Bring>(fields));
    case ExchangePacket::brought:
      return take_brought(decode<Brought>(fields));
    default:
      return;
  }
}

void RemoteFetcher::land_part(std::uint64_t step_id, InboundStage::PartId id) {
  const auto known = steps_.find(step_id);
  if (known == steps_.end()) return;
  Step& step = *known->second;
  step.inbound.find(id)->has_landed = true;
  const auto waiting = step.waiting.extract(id);
  if (waiting.empty()) return;
  for (const WaitingPointer& get : waiting.mapped()) count_down(*get);
}

void RemoteFetcher::fail_part(std::uint64_t step_id, InboundStage::PartId id, const Outcome& outcome) {
  const auto known = steps_.find(step_id);  // may be erased while its gets are answered
  if (known == steps_.end()) return;
  Step& step = *known->second;
  step.inbound.drop(id);
  const auto waiting = step.waiting.extract(id);
  if (waiting.empty()) return;
  for (const WaitingPointer& get : waiting.mapped()) {
    if (!get->outcome.is_failure()) get->outcome = outcome;
    count_down(*get);
  }
}

void RemoteFetcher::forget(std::uint64_t id) {
  server_.forget(id);
  client_.forget(id);
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

void RemoteFetcher::forget_all() {
  while (!steps_.empty()) forget(steps_.begin()->first);
}

}  // namespace sluice::runtime
