#include "shared_gets.hpp"

#include <memory>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

matcher::Partition partition_among(std::uint32_t matchers) {
  matcher::Partition partition;
  partition.owners = matchers;
  return partition;
}

RemoteFetcher::Seat seat_of(const NodeMap& nodes, std::uint32_t rank) {
  const matcher::MatcherPlace place = nodes.place_of(rank);
  return {place, static_cast<std::uint32_t>(nodes.matchers_of(place.node).size())};
}

}  // namespace

SharedGets::SharedGets(GetParts parts, PeerLink& link, StepFiles& files, std::function<void()> on_release)
    : parts_(parts),
      link_(link),
      on_release_(std::move(on_release)),
      matching_(*this, parts_.base.store,
                {link.rank(), parts_.base.nodes.place_of(link.rank()), partition_among(link.size())}),
      moving_(*this, parts_.base.store, seat_of(parts_.base.nodes, link.rank())),
      reading_(*this, parts_.base.store, files) {
  link_.on_packet(PacketKind::exchange, [this](std::uint32_t from, std::span<const std::byte> packet) {
    take_packet(from, packet);
  });
}

// FetchHost

std::uint32_t SharedGets::rank_of(matcher::MatcherPlace place) const {
  return parts_.base.nodes.rank_of(place);
}

void SharedGets::send(std::uint32_t to, std::vector<std::byte> packet) {
  link_.send(to, PacketKind::exchange, std::move(packet));
}

void SharedGets::view(std::uint64_t step, ViewReceiver receiver) {
  parts_.views.with_view(step, 0, std::move(receiver));
}

std::span<std::byte> SharedGets::inbound_memory(matcher::SegmentId segment) {
  return parts_.base.store.writable(segment);
}

std::shared_ptr<const void> SharedGets::keep_mapped(matcher::SegmentId segment) {
  return parts_.base.store.keep_mapped(segment);
}

void SharedGets::open(std::vector<matcher::SegmentId> segments, SegmentUser use) {
  parts_.base.neighbours.open(std::move(segments), std::move(use));
}

void SharedGets::join_lease(std::uint64_t step, const FetchReader& reader) {
  parts_.base.tree.send_up(LeaseQuery{0, step, 0, 0, LeaseReader{reader.matcher, reader.connection}});
}

void SharedGets::send_data(PeerLink::DataRoute to, PeerLink::DataSource source) {
  link_.send_data(to, std::move(source));
}

void SharedGets::expect_data(PeerLink::DataRoute from, std::span<std::byte> place, PeerLink::Landed landed) {
  link_.expect_data(from, place, std::move(landed));
}

// Gets

void SharedGets::take_packet(std::uint32_t from, std::span<const std::byte> packet) {
  if (packet.empty()) throw Error(NC_EIO, "an empty packet came from matcher " + std::to_string(from));
  const auto kind = static_cast<ExchangePacket>(packet.front());
  if (reads_memory(kind)) {
    reading_.take(from, kind, packet.subspan(1));
  } else if (moves_data(kind)) {
    moving_.take(from, kind, packet.subspan(1));
  } else {
    matching_.take(from, kind, packet.subspan(1));
  }
}

void SharedGets::begin(WaitingGet waiting) {
  Get request = waiting.request;
  auto take = [this, waiting = std::move(waiting)](const Outcome& outcome, MatchedGet found) mutable {
    Client* const client = parts_.clients.find(waiting.client);
    if (client == nullptr) return;
    if (!outcome.is_failure() && found.unwritten_variable >= 0)
      return parts_.deferred.hold_and_ask(std::move(waiting), found.unwritten_variable);
    parts_.deferred.release(waiting);
    if (!outcome.is_failure()) return land(waiting.client, waiting.tag, std::move(found));
    if (Client* const receiver = parts_.clients.find(waiting.client))
      parts_.clients.send_error(*receiver, waiting.tag, outcome.status, outcome.text);
  };
  matching_.match(std::move(request), std::move(take));
}

void SharedGets::count_records(matcher::StepId step, RecordReceiver receiver) {
  Get nothing;
  nothing.step = step;
  matching_.match(std::move(nothing), [receiver = std::move(receiver)](const Outcome& outcome,
                                                                       const MatchedGet& matched) {
    receiver(outcome, outcome.is_failure() ? 0 : matched.view->records_of_readers(matched.records_end));
  });
}

void SharedGets::land(ClientId id, std::uint32_t tag, MatchedGet found) {
  const auto tell = [this, id, tag](const Outcome& result, MatchedGet matched,
                                    const std::vector<InboundPart>& landed) {
    if (result.is_failure()) {
      if (Client* const client = parts_.clients.find(id))
        parts_.clients.send_error(*client, tag, result.status, result.text);
      return;
    }
    answer_when_located(id, tag, std::move(matched), landed, true);
  };
  const matcher::StepId step = found.view->step;
  with_known_connection(id, step, [this, id, tell, found = std::move(found)]() mutable {
    moving_.land(std::move(found), tell, id);
  });
}

/// If the registry does not know a connection yet, as with those of new threads, only this matcher may serve
/// its get. Another matcher's question to the registry on its behalf could arrive there before the
/// connection.
void SharedGets::with_known_connection(ClientId id, matcher::StepId step, std::function<void()> then) {
  const Client* const client = parts_.clients.find(id);
  const bool has_neighbours = parts_.base.nodes.matchers_of(parts_.base.node()).size() > 1;
  if (client == nullptr || client->is_known_to_registry || !has_neighbours) return then();
  parts_.views.query(step, id, [this, id, then = std::move(then)](const auto&, const auto&) {
    if (Client* const known = parts_.clients.find(id)) known->is_known_to_registry = true;
    then();
  });
}

/// Other matchers may have read the tables with a newer view than this one's. The plans may then name data in
/// memory that this view does not know. A view that is asked for now knows it.
void SharedGets::answer_when_located(ClientId id, std::uint32_t tag, MatchedGet matched,
                                     const std::vector<InboundPart>& landed, bool may_ask) {
  if (matched.view->is_told_whole()) return answer(id, tag, matched, landed);
  const StepViewPointer view = matched.view;
  with_growing_ranges(view, [this, id, tag, matched = std::move(matched), landed, may_ask]() mutable {
    if (!may_ask || are_located(matched)) return answer(id, tag, matched, landed);
    const matcher::StepId step = matched.view->step;
    parts_.views.query(step, 0,
                       [this, id, tag, matched = std::move(matched), landed](
                           const Outcome& outcome, const StepViewPointer& newest) mutable {
                         if (!outcome.is_failure()) {
                           matched.view = newest;
                           return answer_when_located(id, tag, std::move(matched), landed, false);
                         }
                         if (Client* const client = parts_.clients.find(id))
                           parts_.clients.send_error(*client, tag, outcome.status, outcome.text);
                       });
  });
}

/// Whether this matcher knows where all data of this node is that the plans name.
bool SharedGets::are_located(const MatchedGet& matched) {
  return std::ranges::all_of(matched.uses, [&](const PlanUse& use) {
    const auto sources = replay::sources_of(matched.plans.at(use.plan), matched.element_bytes.at(use.plan));
    return std::ranges::all_of(sources, [&](const replay::PlanSource& source) {
      if (!is_here(*matched.view, source.writer)) return true;
      const auto shift = static_cast<std::uint64_t>(replay::shift_of(use.shifts, source.writer));
      return matcher::cover(ranges_here(*matched.view, source.writer), source.first + shift,
                            source.end + shift);
    });
  });
}

bool SharedGets::is_here(const matcher::StepView& view, std::uint32_t writer) const {
  if (writer >= view.logs.size()) return false;
  const auto holder = holder_of(view.logs[writer]);
  return holder && holder->node == parts_.base.node();
}

/// Where a writer's data is, if it is on this node.
std::span<const LogRange> SharedGets::ranges_here(const matcher::StepView& view, std::uint32_t writer) {
  if (!is_here(view, writer)) return {};
  if (view.is_told_whole()) return all_of(view.logs[writer].ranges);
  const CachedStep* const known = parts_.views.find(view.step);
  return known != nullptr && known->scan ? known->scan->ranges(writer) : std::span<const LogRange>{};
}

/// Reads the tables of this node's processes for the positions of their data. For a published step, the view
/// has them.
void SharedGets::with_growing_ranges(const StepViewPointer& view, std::function<void()> then) {
  const std::uint32_t node = parts_.base.node();
  std::vector<matcher::SegmentId> tables;
  for (const matcher::LogView& log : view->logs) {
    for (const matcher::LogSegment& table : log.tables) {
      if (matcher::node_of(table.segment) == node) tables.push_back(table.segment);
    }
  }
  parts_.base.neighbours.fetch(tables, [this, view, then = std::move(then)] {
    if (CachedStep* const known = parts_.views.find(view->step)) read_growing_ranges(*known, *view);
    then();
  });
}

void SharedGets::read_growing_ranges(CachedStep& known, const matcher::StepView& view) {
  if (known.scan == nullptr) known.scan = std::make_unique<matcher::TableScan>(parts_.base.store);
  known.scan->expect_newer_memory(!view.is_final);
  try {
    for (std::size_t i = 0; i < view.logs.size(); ++i) {
      const auto writer = static_cast<std::uint32_t>(i);
      if (!is_here(view, writer)) continue;
      known.scan->read(
          writer, view.logs[i], [](const auto&, auto) {}, matcher::Visibility::everything);
    }
  } catch (const Error& error) {  // the client is not told these ranges; its call then fails
    parts_.base.log.event(error.what());
  }
}

void SharedGets::answer(ClientId id, std::uint32_t tag, const MatchedGet& matched,
                        const std::vector<InboundPart>& landed) {
  Client* const client = parts_.clients.find(id);
  if (client == nullptr) return;
  try {
    const Plans answer = plans_for(*client, matched, landed);
    std::vector<matcher::SegmentId> segments;
    for (const LogRange& range : answer.ranges) segments.push_back(range.segment);
    parts_.segments.send_with(*client, segments, MessageType::plans, tag, encode(answer));
  } catch (const Error& error) {
    parts_.clients.send_error(*client, tag, error.status(), error.what());
  }
}

Plans SharedGets::plans_for(Client& client, const MatchedGet& matched,
                            const std::vector<InboundPart>& landed) {
  const matcher::StepView& view = *matched.view;
  const CachedStep* const known = parts_.views.find(view.step);
  const auto ranges_of = [&](std::uint32_t writer) { return ranges_here(view, writer); };
  Plans answer;
  answer.record_count = view.records_of_readers(matched.records_end);
  AnnouncedRanges& told = client.told[view.step];
  std::vector<std::vector<replay::PlanSource>> sources;  // for each plan
  for (std::size_t i = 0; i < matched.plans.size(); ++i) {
    sources.push_back(replay::sources_of(matched.plans[i], matched.element_bytes[i]));
    replay::encode(matched.plans[i], answer.plans);
  }
  for (const PlanUse& use : matched.uses)
    told.tell(ranges_of, sources.at(use.plan), use.shifts, answer.ranges);
  answer.uses = matched.uses;
  if (view.is_final) {
    const bool was_ahead = known != nullptr && known->was_fetched_ahead;
    parts_.history.note_logs(client.process->id, {view.rule, view.pattern}, answer.ranges);
    parts_.history.note_inbound(client.process->id, {view.rule, view.pattern_of_offsets()}, landed,
                                was_ahead);
  }
  for (const InboundPart& part : landed) {
    for (const LogRange& range : part.ranges) told.tell_landed(range, answer.ranges);
  }
  return answer;
}

// Memory for inbound data

void SharedGets::lease(const LeaseRequest& request, LeaseReceiver receiver) {
  LeaseQuery query{next_query_++, request.step, request.bytes, request.wanted_bytes, {}};
  if (!request.is_ahead) query.reader = LeaseReader{request.reader.matcher, request.reader.connection};
  waiting_leases_.insert_or_assign(query.query, WaitingLease{request.bytes, std::move(receiver)});
  parts_.base.tree.send_up(query);
}

void SharedGets::take(const Answer& answer) {
  const auto waiting = waiting_leases_.extract(answer.tag);
  if (waiting.empty()) return;
  const auto& [least_bytes, receiver] = waiting.mapped();
  if (const auto* const refusal = std::get_if<ErrorReply>(&answer.reply))
    return receiver({refusal->status, refusal->text}, {});
  const matcher::SegmentId segment = std::get<Granted>(answer.reply).segment;
  std::uint64_t bytes = 0;
  Outcome outcome;
  try {
    bytes = parts_.base.store.writable(segment).size();
    if (bytes < least_bytes) outcome = {NC_ENO_SPACE, "the system has no memory for data from other nodes"};
  } catch (const Error& error) {
    outcome = {error.status(), error.what()};
  }
  receiver(outcome, {segment, bytes});
}

std::vector<matcher::LogRange> SharedGets::landed_for(matcher::ProcessId process,
                                                      const matcher::StepView& view) {
  return moving_.landed(view.step, parts_.history.inbound(process, {view.rule, view.pattern_of_offsets()}));
}

void SharedGets::fetch_ahead(CachedStep& known) {
  if (!known.view->is_final || std::exchange(known.was_seen_published, true)) return;
  auto wanted = parts_.history.wanted({known.view->rule, known.view->pattern_of_offsets()});
  if (wanted.empty()) return;
  known.was_fetched_ahead = true;
  moving_.fetch_ahead(known.view, std::move(wanted));
}

void SharedGets::forget(matcher::StepId step) {
  matching_.forget(step);
  moving_.forget(step);
}

}  // namespace sluice::runtime
