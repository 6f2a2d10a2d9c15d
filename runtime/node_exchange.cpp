#include "node_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

constexpr std::size_t data_head_bytes = 1 + sizeof(std::uint64_t);
/// Of landing segments; a larger part gets a segment of its own.
constexpr std::uint64_t most_segment_bytes = 64U << 20;
constexpr std::uint64_t least_segment_bytes = 1U << 20;
constexpr std::uint64_t landing_alignment = 64;

std::uint64_t aligned(std::uint64_t offset) noexcept {
  return (offset + landing_alignment - 1) / landing_alignment * landing_alignment;
}

template <class Message>
std::vector<std::byte> packet_of(ExchangePacket kind, const Message& message) {
  std::vector<std::byte> packet{static_cast<std::byte>(kind)};
  const std::vector<std::byte> fields = encode(message);
  packet.insert(packet.end(), fields.begin(), fields.end());
  return packet;
}

/// Logs of a step in the segments of this matcher.
class HeldLogs final : public replay::LogReader {
 public:
  /// `scan`: of the tables, where the step's view does not tell where the data is (it still grows).
  HeldLogs(matcher::SegmentMemory& memory, const matcher::StepView& view, const matcher::TableScan* scan)
      : memory_(memory), view_(view), scan_(scan) {}
  std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    if (writer >= view_.logs.size()) return {};
    const auto ranges = scan_ != nullptr ? scan_->ranges(writer) : std::span(view_.logs[writer].ranges);
    const auto next = std::ranges::upper_bound(ranges, log_offset, {}, &matcher::LogRange::log_offset);
    if (next == ranges.begin()) return {};
    const matcher::LogRange& range = *std::prev(next);
    std::uint64_t length = range.length_bytes;
    if (next != ranges.end()) length = std::min(length, next->log_offset - range.log_offset);
    const std::uint64_t skipped = log_offset - range.log_offset;
    if (skipped >= length) return {};
    const std::span<const std::byte> segment = memory_.contents(range.segment);
    if (range.segment_offset > segment.size() || length > segment.size() - range.segment_offset) return {};
    return segment.subspan(range.segment_offset + skipped, length - skipped);
  }

 private:
  matcher::SegmentMemory& memory_;
  const matcher::StepView& view_;
  const matcher::TableScan* scan_;
};

}  // namespace

/// A get that waits for parts.
struct NodeExchange::Waiting {
  MatchedGet matched;
  std::vector<WantedPartPointer> ahead;  ///< instead of what plans need
  LandReceiver receiver;
  std::uint64_t reader = 0;  ///< its connection
  Landing::PartIds needed;
  std::size_t missing = 0;
  Outcome outcome;
};

struct NodeExchange::Step {
  explicit Step(const StepViewPointer& known)
      : id(known->step), landing(static_cast<std::uint32_t>(known->first_own_log)) {}
  std::uint64_t id;
  Landing landing;
  matcher::LogSegment segment;  ///< that the next parts land in
  std::uint64_t segment_used = 0;
  std::deque<WaitingPointer> queue;  ///< gets whose parts have no places yet; the first is being served
  bool is_leasing = false;           ///< it waits for a segment
  std::map<Landing::PartId, std::vector<WaitingPointer>> waiting;
  bool is_fetching_ahead = false;
  std::vector<std::function<void()>> after_ahead;
};

/// Parts on their way from one matcher, in the order in which they come.
struct NodeExchange::Fetching {
  std::uint64_t step = 0;
  std::deque<Landing::PartId> parts;
  std::uint64_t landed = 0;  ///< bytes of the first of them
};

/// What is being sent to another matcher.
struct NodeExchange::Sending {
  std::uint64_t id = 0;
  StepViewPointer view;
  ScanPointer scan;  ///< null for a published step
  std::deque<replay::Packer> parts;
  Outcome outcome;
  bool is_done = false;

  std::size_t produce(matcher::SegmentMemory& memory, std::span<std::byte> room);
};

NodeExchange::NodeExchange(Environment environment) : environment_(std::move(environment)) {}
NodeExchange::~NodeExchange() = default;

// The reader's side

NodeExchange::Step& NodeExchange::step_of(const StepViewPointer& view) {
  std::unique_ptr<Step>& known = steps_[view->step];
  if (known == nullptr) known = std::make_unique<Step>(view);
  return *known;
}

void NodeExchange::land(MatchedGet matched, LandReceiver receiver, std::uint64_t reader) {
  Step& step = step_of(matched.view);
  auto waiting = std::make_shared<Waiting>();
  waiting->matched = std::move(matched);
  waiting->receiver = std::move(receiver);
  waiting->reader = reader;
  enqueue(step, std::move(waiting));
}

void NodeExchange::enqueue(Step& step, WaitingPointer waiting) {
  if (step.is_leasing && waiting->reader != 0 && environment_.join_lease)
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
  waiting->ahead = std::move(wanted);
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
  for (const LandingPart& part : known->second->landing.parts(found)) ranges.push_back(part.range);
  return ranges;
}

/// One get at a time is given places, so that none is fetched twice.
void NodeExchange::start_next(Step& step) {
  const WaitingPointer waiting = step.queue.front();
  MatchedGet& matched = waiting->matched;
  const auto source_of = [&](std::uint32_t writer) -> std::optional<std::uint32_t> {
    if (writer >= matched.view->logs.size()) {
      if (!waiting->ahead.empty()) return std::nullopt;
      throw Error(NC_EIO, "a plan reads a log that is not there");
    }
    const auto holder = holder_of(matched.view->logs[writer]);
    if (!holder || holder->node == environment_.place.node) return std::nullopt;
    return environment_.rank_of(*holder);
  };
  try {
    for (std::size_t i = 0; i < matched.plans.size(); ++i)
      step.landing.add(matched.plans[i], matched.element_bytes[i], source_of, waiting->needed);
    for (const WantedPartPointer& wanted : waiting->ahead)
      step.landing.add(wanted, source_of, waiting->needed);
  } catch (const Error& error) {
    waiting->outcome = {error.status(), error.what()};
  }
  std::deque<Landing::PartId> new_parts;
  for (const Landing::PartId id : waiting->needed) {
    const LandingPart* const part = step.landing.find(id);
    if (part != nullptr && !part->is_placed) new_parts.push_back(id);
  }
  place_parts(step, waiting, std::move(new_parts));
}

/// Gives the parts places, as far as there is room; asks for a segment and goes on when it has come.
// `waiting` is a copy: what is asked for here may come at once, and the step forget the get.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void NodeExchange::place_parts(Step& step, WaitingPointer waiting, std::deque<Landing::PartId> parts) {
  std::uint64_t bytes = 0;
  for (const Landing::PartId id : parts) bytes += aligned(step.landing.find(id)->range.length_bytes);
  while (!parts.empty()) {
    LandingPart& part = *step.landing.find(parts.front());
    if (part.range.length_bytes > step.segment.bytes - step.segment_used) break;
    part.range.segment = step.segment.segment;
    part.range.segment_offset = step.segment_used;
    part.is_placed = true;
    step.segment_used = std::min(step.segment.bytes, step.segment_used + aligned(part.range.length_bytes));
    bytes -= aligned(part.range.length_bytes);
    parts.pop_front();
  }
  if (parts.empty()) {
    fetch_parts(step, waiting);
    return;
  }
  const std::uint64_t next_bytes = aligned(step.landing.find(parts.front())->range.length_bytes);
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
      return fetch_parts(step, waiting);
    }
    step.segment = segment;
    step.segment_used = 0;
    place_parts(step, waiting, parts);
  };
  environment_.lease({id, next_bytes, wanted, !waiting->ahead.empty(), waiting->reader}, go_on);
  if (!environment_.join_lease) return;
  const auto known = steps_.find(id);
  if (known == steps_.end() || !known->second->is_leasing) return;
  for (const WaitingPointer& other : known->second->queue) {
    if (other != waiting && other->reader != 0) environment_.join_lease(id, other->reader);
  }
}

/// Asks for what was given a place, and lets the next get be served.
void NodeExchange::fetch_parts(Step& step, const WaitingPointer& waiting) {
  if (waiting->outcome.is_failure()) {  // what is new of it does not come
    for (const Landing::PartId id : waiting->needed) {
      const LandingPart* const part = step.landing.find(id);
      if (part != nullptr && !part->has_landed && !step.waiting.contains(id)) step.landing.drop(id);
    }
    waiting->needed.clear();
  }
  std::map<std::uint32_t, std::vector<Landing::PartId>> by_source;
  for (const Landing::PartId id : waiting->needed) {
    const LandingPart& part = *step.landing.find(id);
    if (part.has_landed) continue;
    ++waiting->missing;
    std::vector<WaitingPointer>& others = step.waiting[id];
    if (others.empty()) by_source[part.source].push_back(id);
    others.push_back(waiting);
  }
  step.queue.pop_front();
  const std::uint64_t id = step.id;
  for (const auto& [source, parts] : by_source) {
    Fetch request{next_fetch_++, id, {}};
    for (const Landing::PartId part_id : parts) {
      const LandingPart& part = *step.landing.find(part_id);
      FetchPart& asked = request.parts.emplace_back();
      asked.element_bytes = part.wanted->element_bytes;
      replay::Plan copies = part.wanted->copies;
      for (replay::Copy& copy : copies.copies) copy.writer += step.landing.first_own_log();
      replay::encode(copies, asked.copies);
    }
    fetching_.emplace(request.id, Fetching{id, {parts.begin(), parts.end()}, 0});
    environment_.send(source, packet_of(ExchangePacket::fetch, request));
  }
  const bool is_here = waiting->missing == 0;
  if (!step.queue.empty()) start_next(step);
  if (is_here) finish(step, *waiting);
}

void NodeExchange::finish(Step& step, Waiting& waiting) {
  std::vector<LandingPart> parts;
  if (!waiting.outcome.is_failure()) parts = step.landing.parts(waiting.needed);
  std::exchange(waiting.receiver, nullptr)(waiting.outcome, std::move(waiting.matched), parts);
}

void NodeExchange::take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields) {
  if (kind == ExchangePacket::fetched) {
    std::uint64_t id = 0;
    if (fields.size() < sizeof id) throw Error(NC_EIO, "damaged packet of data");
    std::memcpy(&id, fields.data(), sizeof id);
    take_data(id, fields.subspan(sizeof id));
  } else if (kind == ExchangePacket::fetch_failed) {
    take_failure(decode<FetchFailed>(fields));
  } else if (kind == ExchangePacket::fetch) {
    answer_fetch(from, decode<Fetch>(fields));
  }
}

/// Data of a step that is no more is dropped: its segments may belong to others by now.
void NodeExchange::take_data(std::uint64_t fetch, std::span<const std::byte> bytes) {
  const auto found = fetching_.find(fetch);
  if (found == fetching_.end()) return;
  Fetching& fetching = found->second;
  Step& step = *steps_.at(fetching.step);
  landed_bytes_ += bytes.size();
  std::vector<Landing::PartId> landed;
  while (!bytes.empty()) {
    if (fetching.parts.empty()) throw Error(NC_EIO, "more data came than was asked for");
    const Landing::PartId id = fetching.parts.front();
    const matcher::LogRange& range = step.landing.find(id)->range;
    const auto count = std::min<std::uint64_t>(bytes.size(), range.length_bytes - fetching.landed);
    const std::span<std::byte> memory = environment_.landing_memory(range.segment);
    if (memory.size() < range.segment_offset + range.length_bytes) {
      throw Error(NC_EIO, "a landing segment is not there");
    }
    std::memcpy(memory.data() + range.segment_offset + fetching.landed, bytes.data(), count);
    bytes = bytes.subspan(count);
    fetching.landed += count;
    if (fetching.landed < range.length_bytes) continue;
    fetching.landed = 0;
    fetching.parts.pop_front();
    landed.push_back(id);
  }
  const std::uint64_t step_id = fetching.step;
  if (fetching.parts.empty()) fetching_.erase(found);
  for (const Landing::PartId id : landed) land_part(step_id, id);
}

void NodeExchange::land_part(std::uint64_t step_id, Landing::PartId id) {
  const auto known = steps_.find(step_id);
  if (known == steps_.end()) return;
  Step& step = *known->second;
  step.landing.find(id)->has_landed = true;
  const auto waiting = step.waiting.extract(id);
  if (waiting.empty()) return;
  for (const WaitingPointer& get : waiting.mapped()) {
    if (--get->missing == 0 && get->receiver) finish(step, *get);
  }
}

void NodeExchange::take_failure(const FetchFailed& failure) {
  const auto fetching = fetching_.extract(failure.id);
  if (fetching.empty()) return;
  Step& step = *steps_.at(fetching.mapped().step);
  Outcome outcome = failure.outcome;
  if (!outcome.is_failure()) outcome = {NC_EIO, "a matcher sent less data than was asked for"};
  for (const Landing::PartId id : fetching.mapped().parts) {
    step.landing.drop(id);
    const auto waiting = step.waiting.extract(id);
    if (waiting.empty()) continue;
    for (const WaitingPointer& get : waiting.mapped()) {
      if (!get->outcome.is_failure()) get->outcome = outcome;
      if (--get->missing == 0 && get->receiver) finish(step, *get);
    }
  }
}

void NodeExchange::forget(std::uint64_t id) {
  growing_.erase(id);
  std::erase_if(fetching_, [&](const auto& entry) { return entry.second.step == id; });
  const auto known = steps_.extract(id);
  if (known.empty()) return;
  for (const auto& then : std::exchange(known.mapped()->after_ahead, {})) then();
  std::vector<WaitingPointer> waiting(known.mapped()->queue.begin(), known.mapped()->queue.end());
  for (const auto& [part, gets] : known.mapped()->waiting)
    std::ranges::copy(gets, std::back_inserter(waiting));
  for (const WaitingPointer& get : waiting) {
    get->outcome = {NC_EIO, "step " + std::to_string(id) + " is no more"};
    if (get->receiver) finish(*known.mapped(), *get);
  }
}

// The writer's side

std::size_t NodeExchange::Sending::produce(matcher::SegmentMemory& memory, std::span<std::byte> room) {
  if (is_done) return 0;
  std::size_t used = data_head_bytes;
  try {
    if (outcome.is_failure()) throw Error(static_cast<Status>(outcome.status), outcome.text);
    room[0] = static_cast<std::byte>(ExchangePacket::fetched);
    std::memcpy(room.data() + 1, &id, sizeof id);
    HeldLogs logs(memory, *view, scan.get());
    while (!parts.empty() && used < room.size()) {
      used += parts.front().pack(logs, room.subspan(used));
      if (!parts.front().is_done()) break;
      parts.pop_front();
    }
    is_done = parts.empty();
    return used > data_head_bytes ? used : 0;
  } catch (const std::exception& error) {
    is_done = true;
    const auto packet = packet_of(ExchangePacket::fetch_failed, FetchFailed{id, {NC_EIO, error.what()}});
    if (packet.size() > room.size()) return 0;
    std::ranges::copy(packet, room.begin());
    return packet.size();
  }
}

/// Where the data of the logs is that this matcher has, while they are written.
NodeExchange::ScanPointer NodeExchange::scan_of(const matcher::StepView& view) {
  ScanPointer& scan = growing_[view.step];
  if (scan == nullptr) scan = std::make_shared<matcher::TableScan>(*environment_.memory);
  scan->expect_newer_memory(!view.is_final);
  for (std::size_t i = 0; i < view.logs.size(); ++i) {
    if (holder_of(view.logs[i]) != environment_.place) continue;
    scan->read(
        static_cast<std::uint32_t>(i), view.logs[i], [](const auto&, auto) {}, matcher::Reach::everything);
  }
  return scan;
}

void NodeExchange::answer_fetch(std::uint32_t to, const Fetch& request) {
  environment_.view(request.step, [this, to, request](const Outcome& outcome, const StepViewPointer& view) {
    auto sending = std::make_shared<Sending>();  // shared with nobody else: producers are copied about
    sending->id = request.id;
    sending->outcome = outcome;
    try {
      if (outcome.is_failure()) throw Error(static_cast<Status>(outcome.status), outcome.text);
      sending->view = view;
      if (view->is_told_whole()) {
        growing_.erase(request.step);
      } else {
        sending->scan = scan_of(*view);
      }
      for (const FetchPart& part : request.parts) {
        std::size_t position = 0;
        sending->parts.emplace_back(replay::decode_plan(part.copies, position), part.element_bytes);
      }
    } catch (const Error& error) {
      growing_.erase(request.step);
      sending->outcome = {error.status(), error.what()};
    }
    environment_.stream(to, [this, sending](std::span<std::byte> room) {
      return sending->produce(*environment_.memory, room);
    });
  });
}

}  // namespace sluice::runtime
