// Gets where there are other matchers: matched by all of them together, with data that may be on other nodes.
#include <algorithm>
#include <utility>

#include "matcher_server.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

void MatcherRank::Server::start_exchange() {
  const matcher::MatcherPlace place = nodes_.place_of(link_->rank());
  const auto rank_of = [this](matcher::MatcherPlace of) { return nodes_.rank_of(of); };
  const auto send = [this](std::uint32_t to, std::vector<std::byte> packet) {
    link_->send(to, PacketKind::exchange, std::move(packet));
  };
  const auto view = [this](std::uint64_t step, ViewReceiver receiver) {
    with_view(step, 0, std::move(receiver));
  };
  MatchExchange::Environment matching;
  matching.rank = link_->rank();
  matching.place = place;
  matching.rank_of = rank_of;
  matching.partition.owners = link_->size();
  matching.memory = &store_;
  matching.send = send;
  matching.view = view;
  matching_.emplace(std::move(matching));

  NodeExchange::Environment moving;
  moving.place = place;
  moving.matchers_of_node = static_cast<std::uint32_t>(nodes_.matchers_of(place.node).size());
  moving.rank_of = rank_of;
  moving.memory = &store_;
  moving.landing_memory = [this](matcher::SegmentId segment) { return store_.writable(segment); };
  moving.send = send;
  moving.send_data = [this](PeerLink::DataRoute to, PeerLink::DataSource source) {
    link_->send_data(to, std::move(source));
  };
  moving.expect_data = [this](PeerLink::DataRoute from, std::span<std::byte> place, PeerLink::Landed landed) {
    link_->expect_data(from, place, std::move(landed));
  };
  moving.keep_mapped = [this](matcher::SegmentId segment) { return store_.keep_mapped(segment); };
  moving.on_release = [this] { take_held_items(); };
  moving.view = view;
  moving.lease = [this](const NodeExchange::LeaseRequest& request, NodeExchange::LeaseReceiver receiver) {
    lease_landing(request, std::move(receiver));
  };
  moving.join_lease = [this](std::uint64_t step, const NodeExchange::Reader& reader) {
    RelayItem note;
    note.kind = RelayItemKind::lease_joined;
    note.number = step;
    note.fields = encode(LeaseReader{reader.matcher, reader.connection});
    tree_.send_up(std::move(note));
  };
  moving_.emplace(std::move(moving));
  link_->on_packet(PacketKind::exchange, [this](std::uint32_t from, std::span<const std::byte> packet) {
    take_exchange_packet(from, packet);
  });
}

void MatcherRank::Server::take_exchange_packet(std::uint32_t from, std::span<const std::byte> packet) {
  if (packet.empty()) throw Error(NC_EIO, "an empty packet came from matcher " + std::to_string(from));
  const auto kind = static_cast<ExchangePacket>(packet.front());
  if (moves_data(kind)) {
    moving_->take(from, kind, packet.subspan(1));
  } else {
    matching_->take(from, kind, packet.subspan(1));
  }
}

void MatcherRank::Server::begin_shared_get(WaitingGet waiting) {
  Get request = waiting.request;
  auto take = [this, waiting = std::move(waiting)](const Outcome& outcome, MatchedGet found) mutable {
    if (find(waiting.client) == nullptr) return;
    if (!outcome.is_failure() && found.unwritten_variable >= 0)
      return hold_shared_get(std::move(waiting), found.unwritten_variable);
    if (waiting.is_held) retry_pause_ = least_retry_pause;
    release_get(waiting);
    if (!outcome.is_failure()) return land_shared_get(waiting.client, waiting.tag, std::move(found));
    send_error(*find(waiting.client), waiting.tag, outcome.status, outcome.text);
  };
  matching_->match(std::move(request), std::move(take));
}

/// The writers are on other nodes: they are asked again and again, less often the longer it takes.
void MatcherRank::Server::hold_shared_get(WaitingGet waiting, int varid) {
  constexpr std::chrono::milliseconds longest_pause{32};
  const bool is_first = held_gets_.empty();
  hold_get(waiting, varid);
  if (!is_first) return;
  retry_timer_.expires_after(retry_pause_);
  retry_pause_ = std::min(2 * retry_pause_, longest_pause);
  retry_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    std::vector<matcher::StepId> steps;
    for (const auto& [step, held] : held_gets_) steps.push_back(step);
    for (const matcher::StepId step : steps) retry_gets(step);
  });
}

void MatcherRank::Server::land_shared_get(ClientId id, std::uint32_t tag, MatchedGet found) {
  const auto answer = [this, id, tag](const Outcome& result, MatchedGet matched,
                                      const std::vector<LandingPart>& landed) {
    if (result.is_failure()) {
      if (Client* const client = find(id)) send_error(*client, tag, result.status, result.text);
      return;
    }
    if (matched.view->is_told_whole()) return answer_shared_get(id, tag, matched, landed);
    const StepViewPointer view = matched.view;
    with_growing_ranges(view, [this, id, tag, matched = std::move(matched), landed] {
      answer_shared_get(id, tag, matched, landed);
    });
  };
  const matcher::StepId step = found.view->step;
  with_known_connection(id, step, [this, id, answer, found = std::move(found)]() mutable {
    moving_->land(std::move(found), answer, id);
  });
}

/// A get of a connection of which the registry has not heard may only be served by this matcher: what another
/// one of the node asks of the registry on its behalf could come there first. Such are those of new threads.
void MatcherRank::Server::with_known_connection(ClientId id, matcher::StepId step,
                                                std::function<void()> then) {
  Client* const client = find(id);
  const bool has_neighbours = nodes_.matchers_of(nodes_.place_of(tree_.rank()).node).size() > 1;
  if (client == nullptr || client->is_known_to_registry || !has_neighbours) return then();
  RelayItem query;
  query.kind = RelayItemKind::view_query;
  query.connection = id;
  query.tag = new_query();
  query.number = step;
  waiting_views_.insert_or_assign(query.tag, [this, id, then = std::move(then)](const auto&, const auto&) {
    if (Client* const known = find(id)) known->is_known_to_registry = true;
    then();
  });
  tree_.send_up(std::move(query));
}

/// Reads the tables of this node's processes, for where their data is: of a published step the view tells.
void MatcherRank::Server::with_growing_ranges(const StepViewPointer& view, std::function<void()> then) {
  const std::uint32_t node = nodes_.place_of(tree_.rank()).node;
  std::vector<matcher::SegmentId> tables;
  for (const matcher::LogView& log : view->logs) {
    for (const matcher::LogSegment& table : log.tables) {
      if (matcher::node_of(table.segment) == node) tables.push_back(table.segment);
    }
  }
  neighbours_.fetch(tables, [this, view, node, then = std::move(then)] {
    KnownStep* const known = known_steps_.find(view->step);
    if (known == nullptr) return then();
    if (known->scan == nullptr) known->scan = std::make_unique<matcher::TableScan>(store_);
    known->scan->expect_newer_memory(!view->is_final);
    try {
      for (std::size_t i = 0; i < view->logs.size(); ++i) {
        const auto holder = holder_of(view->logs[i]);
        if (!holder || holder->node != node) continue;
        known->scan->read(
            static_cast<std::uint32_t>(i), view->logs[i], [](const auto&, auto) {},
            matcher::Reach::everything);
      }
    } catch (const Error& error) {  // the client is not told of these ranges, and fails
      event(error.what());
    }
    then();
  });
}

void MatcherRank::Server::answer_shared_get(ClientId id, std::uint32_t tag, const MatchedGet& matched,
                                            const std::vector<LandingPart>& landed) {
  Client* const client = find(id);
  if (client == nullptr) return;
  const matcher::StepView& view = *matched.view;
  const std::uint32_t node = nodes_.place_of(tree_.rank()).node;
  const KnownStep* const known = known_steps_.find(view.step);
  const auto ranges_of = [&](std::uint32_t writer) -> std::span<const LogRange> {
    if (writer >= view.logs.size()) return {};
    const auto holder = holder_of(view.logs[writer]);
    if (!holder || holder->node != node) return {};
    if (view.is_told_whole()) return view.logs[writer].ranges;
    return known != nullptr && known->scan ? known->scan->ranges(writer) : std::span<const LogRange>{};
  };
  Plans answer;
  answer.record_count = view.records_of_readers(matched.records_end);
  std::vector<matcher::SegmentId> segments;
  try {
    ToldRanges& told = client->told[view.step];
    std::vector<std::vector<replay::PlanSource>> sources;  // of each plan
    for (std::size_t i = 0; i < matched.plans.size(); ++i) {
      sources.push_back(replay::sources_of(matched.plans[i], matched.element_bytes[i]));
      replay::encode(matched.plans[i], answer.plans);
    }
    for (const PlanUse& use : matched.uses)
      told.tell(ranges_of, sources.at(use.plan), use.shifts, answer.ranges);
    answer.uses = matched.uses;
    if (view.is_final) {
      const bool was_ahead = known != nullptr && known->was_fetched_ahead;
      used_logs_.note(client->process->id, view.rule, view.pattern, answer.ranges);
      landing_patterns_.note(client->process->id, view.rule, view.pattern_of_offsets(), landed, was_ahead);
    }
    for (const LandingPart& part : landed) {
      for (const LogRange& range : part.ranges) told.tell_landed(range, answer.ranges);
    }
    for (const LogRange& range : answer.ranges) segments.push_back(range.segment);
    neighbours_.fetch(segments, [this, id, tag, segments, fields = encode(answer)] {
      Client* const receiver = find(id);
      if (receiver == nullptr) return;
      for (const matcher::SegmentId segment : segments) introduce_segment(*receiver, segment);
      send(*receiver, MessageType::plans, tag, fields);
    });
  } catch (const Error& error) {
    send_error(*client, tag, error.status(), error.what());
  }
}

// Memory for what comes from other nodes

void MatcherRank::Server::lease_landing(const NodeExchange::LeaseRequest& request,
                                        NodeExchange::LeaseReceiver receiver) {
  RelayItem query;
  query.kind = request.is_ahead ? RelayItemKind::lease_ahead_query : RelayItemKind::lease_query;
  query.tag = new_query();
  query.number = request.step;
  query.bytes = request.bytes;
  query.wanted_bytes = request.wanted_bytes;
  if (!request.is_ahead)
    query.fields = encode(LeaseReader{request.reader.matcher, request.reader.connection});
  waiting_leases_.insert_or_assign(query.tag, std::move(receiver));
  tree_.send_up(std::move(query));
}

void MatcherRank::Server::take_lease(const RelayItem& item) {
  const auto waiting = waiting_leases_.extract(item.tag);
  if (waiting.empty()) return;
  if (item.kind == RelayItemKind::lease_refused) {
    const auto refusal = decode<ErrorReply>(item.fields);
    return waiting.mapped()({refusal.status, refusal.text}, {});
  }
  Outcome outcome;
  try {
    if (store_.writable(item.number).size() < item.bytes)
      outcome = {NC_ENO_SPACE, "the system has no memory for what comes from other nodes"};
  } catch (const Error& error) {
    outcome = {error.status(), error.what()};
  }
  waiting.mapped()(outcome, {item.number, item.bytes});
}

/// A step that is published: what its readers needed of the last one of its pattern is brought here at once.
void MatcherRank::Server::fetch_ahead(KnownStep& known) {
  if (!moving_ || !known.view->is_final || std::exchange(known.was_seen_published, true)) return;
  auto wanted = landing_patterns_.wanted(known.view->rule, known.view->pattern_of_offsets());
  if (wanted.empty()) return;
  known.was_fetched_ahead = true;
  moving_->fetch_ahead(known.view, std::move(wanted));
}

void MatcherRank::Server::forget_step(matcher::StepId step) {
  known_steps_.forget(step);
  if (!link_) return;
  matching_->forget(step);
  moving_->forget(step);
}

}  // namespace sluice::runtime
