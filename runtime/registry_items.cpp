// What the registry says to this matcher.
#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "idle_processes.hpp"
#include "matcher_server.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/spill_file.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

void MatcherRank::Server::take_from_registry(RelayItem item) {
  if (is_held(item)) return held_items_.push_back(std::move(item));
  switch (item.kind) {
    case RelayItemKind::answer:
      return take_answer(std::move(item));
    case RelayItemKind::hang_up:
      if (Client* const client = find(item.connection)) {
        client->end_reason = item.text;
        troubled_.insert(client->id);
      }
      return;
    case RelayItemKind::view:
    case RelayItemKind::view_refused:
      return take_view(item);
    case RelayItemKind::lease:
    case RelayItemKind::lease_refused:
      return take_lease(item);
    case RelayItemKind::step_erased:
      return forget_step(item.number);
    case RelayItemKind::round:
      return do_round(item);
    default:
      return carry_out(item);
  }
}

/// What a segment is to be used for next waits until nothing lands in it any more.
bool MatcherRank::Server::is_held(const RelayItem& item) const {
  switch (item.kind) {
    case RelayItemKind::answer:
    case RelayItemKind::lease:
    case RelayItemKind::clear_segment:
    case RelayItemKind::mark_gone:
    case RelayItemKind::destroy_segment:
      return moving_ && moving_->is_receiving_into(item.number);
    default:
      return false;
  }
}

void MatcherRank::Server::take_held_items() {
  for (RelayItem& item : std::exchange(held_items_, {})) {
    const bool is_end = item.kind == RelayItemKind::destroy_segment && !is_held(item);
    const matcher::SegmentId segment = item.number;
    try {
      if (is_end) {
        destroy(segment, Timing::held);
      } else {
        take_from_registry(std::move(item));
      }
    } catch (const IoError& error) {  // the registry has granted it by now
      store_.note_failure(segment);
      event(std::string("memory cannot be had: ") + error.what());
    }
  }
}

// Memory

void MatcherRank::Server::carry_out(const RelayItem& item) {
  switch (item.kind) {
    case RelayItemKind::create_segment:
    case RelayItemKind::clear_segment:
    case RelayItemKind::log_segment:
      return make_or_clear(item);
    case RelayItemKind::keep_log:
      return store_.keep_log(item.number, item.bytes != 0);
    case RelayItemKind::spill_segment:
      return make_spilled(item);
    case RelayItemKind::destroy_segment:
      return destroy(item.number);
    case RelayItemKind::drop_warm:
      return store_.drop_warm();
    case RelayItemKind::look:
      return look_at(item);
    case RelayItemKind::mark_gone:
      return store_.mark_gone(item.number, static_cast<std::uint32_t>(item.bytes));
    case RelayItemKind::drain:
      return begin_drain(item);
    case RelayItemKind::drain_part:
      return drain_part_of(item);
    case RelayItemKind::drain_finish:
      return finish_drain(item);
    default:
      throw Error(NC_EIO, "the registry sent what it never sends");
  }
}

/// Where the registry is here, it refuses the request. Elsewhere it has granted it by now: then the process
/// is told that there is no memory instead of being given any.
void MatcherRank::Server::make_or_clear(const RelayItem& item) {
  try {
    if (item.kind == RelayItemKind::create_segment) {
      store_.create(item.number, item.bytes);
    } else if (item.kind == RelayItemKind::log_segment) {
      store_.create_logged(item.number, item.bytes, {item.text, item.wanted_bytes, item.tag != 0});
    } else {
      store_.clear(item.number, static_cast<SegmentUse>(item.bytes));
    }
  } catch (const Error& error) {
    if (tree_.rank() == 0) throw;
    store_.note_failure(item.number);
    event(std::string("memory cannot be had: ") + error.what());
  }
  serve_waiting_neighbours(item.number);
}

/// Only the registry of this matcher hears at once whether there was room.
void MatcherRank::Server::make_spilled(const RelayItem& item) {
  if (tree_.rank() == 0) return void(store_.create_spilled(item.number, item.bytes));
  RelayItem reply;
  reply.kind = RelayItemKind::spill_made;
  reply.number = item.number;
  try {
    (void)store_.create_spilled(item.number, item.bytes);
  } catch (const Error& error) {
    reply.text = error.what();
  }
  tree_.send_up(std::move(reply));
}

/// Who waits for room on the disk may try again when it has really been given back.
void MatcherRank::Server::destroy(matcher::SegmentId segment, Timing timing) {
  (void)store_.destroy(segment);
  const bool is_own = nodes_.rank_of(matcher::owner_of(segment)) == tree_.rank();
  const bool is_known = tree_.rank() == 0 && timing == Timing::at_once;
  if (!matcher::is_spilled(segment) || !is_own || is_known) return;
  RelayItem reply;
  reply.kind = RelayItemKind::spill_gone;
  reply.number = segment;
  tree_.send_up(std::move(reply));
}

void MatcherRank::Server::look_at(const RelayItem& item) {
  constexpr std::chrono::milliseconds first_pause{1};
  look_at(decode<matcher::LookRequest>(item.fields), first_pause);
}

/// Whether anybody may act. Who has just asked for something is still falling asleep: it is looked at again
/// before it is called able.
void MatcherRank::Server::look_at(const matcher::LookRequest& request, std::chrono::milliseconds pause) {
  constexpr std::chrono::milliseconds longest_pause{256};
  const std::vector<pid_t> processes(request.processes.begin(), request.processes.end());
  const bool is_nobody_able = request.component.empty()
                                  ? std::ranges::all_of(processes, is_idle)
                                  : is_component_idle(run_mark_, request.component, processes);
  if (!is_nobody_able && pause <= longest_pause) {
    // Shared with its own handler, which may be the last to hold it.
    const auto timer = std::make_shared<boost::asio::steady_timer>(loop_, pause);
    timer->async_wait([this, request, pause, timer](const boost::system::error_code& error) {
      if (!error) look_at(request, 4 * pause);
    });
    return;
  }
  RelayItem reply;
  reply.kind = RelayItemKind::looked;
  reply.number = request.number;
  reply.bytes = is_nobody_able ? 1 : 0;
  tree_.send_up(std::move(reply));
}

// Answers

/// Held until the segment that it names is here.
void MatcherRank::Server::take_answer(RelayItem item) {
  if (item.number == 0) return deliver_answer(item);
  const std::vector<matcher::SegmentId> needed{item.number};
  neighbours_.fetch(needed, [this, item = std::move(item)] { deliver_answer(item); });
}

void MatcherRank::Server::deliver_answer(const RelayItem& item) {
  Client* const client = find(item.connection);
  if (client == nullptr) return;
  client->is_known_to_registry = true;
  try {
    switch (item.type) {
      case MessageType::segment:
        return send_segment(*client, item.tag, item.number);
      case MessageType::created:
        client->process->note_open(decode<Created>(item.fields).step);
        if (item.number != 0) introduce_segment(*client, item.number);
        break;
      case MessageType::opened:
        if (decode<Opened>(item.fields).step != 0) return deliver_opened(*client, item);
        break;
      case MessageType::error:
        forget_held_get(item.connection, item.tag);
        break;
      default:
        break;
    }
    send(*client, item.type, item.tag, item.fields);
  } catch (const Error& error) {  // the system had no memory for the segment
    send_error(*client, item.tag, error.status(), error.what());
  }
}

/// Held until what was fetched ahead of the process's gets is here.
void MatcherRank::Server::deliver_opened(Client& client, const RelayItem& item) {
  const std::uint64_t step = decode<Opened>(item.fields).step;
  client.process->note_open(step);
  if (!moving_) return finish_opened(item);
  moving_->when_ahead(step, [this, item] {
    try {
      finish_opened(item);
    } catch (const Error& error) {
      if (Client* const waiting = find(item.connection))
        send_error(*waiting, item.tag, error.status(), error.what());
    }
  });
}

void MatcherRank::Server::finish_opened(const RelayItem& item) {
  const auto opened = decode<Opened>(item.fields);
  KnownStep* const known = known_steps_.find(opened.step);
  if (known == nullptr) throw Error(NC_EIO, "the registry did not tell of the step");
  if (!known->view->are_counted_by_tables() || opened.control != 0) return tell_opened(item, 0);
  if (matching_) return count_records_of(item);
  (void)known->updated_index(store_, false);
  tell_opened(item, known->record_count());
}

/// The request tables of all matchers tell how many records there are.
void MatcherRank::Server::count_records_of(const RelayItem& item) {
  Get nothing;
  nothing.step = decode<Opened>(item.fields).step;
  matching_->match(std::move(nothing), [this, item](const Outcome& outcome, const MatchedGet& matched) {
    Client* const client = find(item.connection);
    if (client == nullptr) return;
    if (outcome.is_failure()) return send_error(*client, item.tag, outcome.status, outcome.text);
    tell_opened(item, matched.view->records_of_readers(matched.records_end));
  });
}

/// With the header, and with where those logs are that the process is likely to read.
void MatcherRank::Server::tell_opened(const RelayItem& item, std::int64_t least_records) {
  Client* const client = find(item.connection);
  if (client == nullptr) return;
  auto opened = decode<Opened>(item.fields);
  KnownStep* const known = known_steps_.find(opened.step);
  if (known == nullptr) return send_error(*client, item.tag, NC_EIO, "the registry did not tell of the step");
  const matcher::StepView& view = *known->view;
  opened.header = view.header;
  opened.record_count = std::max(opened.record_count, least_records);
  std::vector<matcher::SegmentId> segments;
  if (item.number != 0) segments.push_back(item.number);
  if (view.is_continued()) {
    for (std::size_t i = view.first_own_log; i < view.logs.size(); ++i)
      opened.first_offsets.push_back(view.logs[i].first_offset);
  }
  if (view.is_final) {
    const std::uint32_t node = nodes_.place_of(tree_.rank()).node;
    for (const std::uint32_t writer : used_logs_.writers(client->process->id, view.rule, view.pattern)) {
      if (writer >= view.logs.size()) continue;
      for (const LogRange& range : view.logs[writer].ranges) {
        if (matcher::node_of(range.segment) == node) opened.ranges.push_back(range);
      }
    }
    if (moving_) {
      const auto wanted =
          landing_patterns_.of_process(client->process->id, view.rule, view.pattern_of_offsets());
      const auto landed = moving_->landed(view.step, wanted);
      opened.ranges.insert(opened.ranges.end(), landed.begin(), landed.end());
    }
    for (const LogRange& range : opened.ranges) segments.push_back(range.segment);
  }
  neighbours_.fetch(segments, [this, id = client->id, tag = item.tag, segments, fields = encode(opened)] {
    Client* const receiver = find(id);
    if (receiver == nullptr) return;
    for (const matcher::SegmentId segment : segments) introduce_segment(*receiver, segment);
    send(*receiver, MessageType::opened, tag, fields);
  });
}

void MatcherRank::Server::take_view(const RelayItem& item) {
  if (item.kind == RelayItemKind::view && !item.fields.empty())
    fetch_ahead(known_steps_.take(decode<matcher::StepView>(item.fields)));
  if (item.tag == 0) return retry_gets(item.number);
  const auto waiting = waiting_views_.extract(item.tag);
  if (waiting.empty()) return;
  const KnownStep* const known = known_steps_.find(item.number);
  if (item.kind == RelayItemKind::view && known != nullptr) return waiting.mapped()({}, known->view);
  Outcome outcome{NC_EBADID, "step " + std::to_string(item.number) + " is no more"};
  if (item.kind == RelayItemKind::view_refused) {
    const auto refusal = decode<ErrorReply>(item.fields);
    outcome = {refusal.status, refusal.text};
  }
  waiting.mapped()(outcome, nullptr);
}

// Rounds

/// The registry hears when it cannot be used, ahead of the end of the round.
void MatcherRank::Server::use_spill_directory(const std::string& directory) {
  if (directory.empty()) return;
  if (directory.starts_with(spill_here_or_elsewhere))
    return find_spill_directory(directory.substr(std::string_view(spill_here_or_elsewhere).size()));
  try {
    store_.set_spill_directory(directory, probe_spill_directory(directory));
  } catch (const Error& error) {
    RelayItem trouble;
    trouble.kind = RelayItemKind::start_trouble;
    trouble.text = "staging.spill cannot be used on node " +
                   std::to_string(nodes_.place_of(tree_.rank()).node) + ": " + error.what();
    tree_.send_up(std::move(trouble));
  }
}

/// Where nobody has named one, a node that cannot use the others' takes its own TMPDIR.
void MatcherRank::Server::find_spill_directory(const std::string& first_choice) {
  const char* const temporary = std::getenv("TMPDIR");
  std::string trouble;
  for (const std::string& directory :
       {first_choice, std::string(temporary == nullptr ? "/tmp" : temporary)}) {
    try {
      store_.set_spill_directory(directory, probe_spill_directory(directory));
      break;
    } catch (const Error& error) {
      trouble += (trouble.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  if (trouble.empty()) return;
  const std::string& found = store_.spill_directory();
  event("on node " + std::to_string(nodes_.place_of(tree_.rank()).node) +
        " what finds no room in memory goes " + (found.empty() ? "nowhere" : "to " + found) + ": " + trouble);
}

void MatcherRank::Server::tell_of_pages() {
  event("matcher " + std::to_string(tree_.rank()) + ": large segments have " +
            (store_.uses_huge_pages() ? "huge pages" : "small pages"),
        Interest::detail);
}

/// Without it a run is slower at first, and as right.
void MatcherRank::Server::make_memory_ahead(std::uint64_t bytes) {
  try {
    store_.prewarm(bytes);
  } catch (const std::exception& error) {
    event(std::string("memory is not made ahead: ") + error.what(), Interest::detail);
  }
}

void MatcherRank::Server::tell_of_warm_memory() {
  constexpr std::uint64_t kib = 1024;
  const auto [made, used] = store_.warm_use();
  if (made == 0) return;
  event("matcher " + std::to_string(tree_.rank()) + " made " + std::to_string(made / kib) +
            " KiB of memory ahead; " + std::to_string(used / kib) + " KiB were given out warm",
        Interest::detail);
}

void MatcherRank::Server::do_round(const RelayItem& item) {
  switch (static_cast<Round>(item.bytes)) {
    case Round::start:
      use_spill_directory(item.text);
      tell_of_pages();
      make_memory_ahead(item.wanted_bytes);
      if (link_) watch_listener();
      return;
    case Round::drain_component:
      return drain_component(item.text);
    case Round::shut_down: {
      tell_of_warm_memory();
      store_.remove_logs();
      RelayItem report;
      report.kind = RelayItemKind::counters;
      report.fields = encode(counters());
      tree_.send_up(std::move(report));
      is_ending_ = !coordinator_;
      return;
    }
  }
  throw Error(NC_EIO, "the registry starts a round that this matcher does not know");
}

}  // namespace sluice::runtime
