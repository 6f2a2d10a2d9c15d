#include "registry_desk.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

using matcher::Ticket;

namespace {

std::uint64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

matcher::RegistryOptions registry_options(CoordinatorHello hello, const NodeMap& nodes) {
  return {std::move(hello.rules),
          std::move(hello.components),
          hello.memory_bytes,
          now_ms,
          hello.retain_bytes,
          nodes.nodes(),
          std::move(hello.spill_directory),
          matcher::warm_shares(hello.prewarm_bytes, static_cast<std::uint32_t>(nodes.matchers_of(0).size())),
          std::move(hello.directory)};
}

}  // namespace

RegistryDesk::RegistryDesk(CoordinatorHello hello, Environment environment)
    : environment_(std::move(environment)),
      rules_(hello.rules),
      registry_(registry_options(std::move(hello), *environment_.nodes), *this, *this) {}

void RegistryDesk::component_exited(const ComponentExited& exit) {
  registry_.component_exited(exit.component, exit.reason);
  std::erase_if(connections_, [&](const auto& entry) { return entry.second.component == exit.component; });
  tell_news();
}

StatusReport RegistryDesk::status() const {
  StatusReport report = registry_.status();
  for (const auto& [rank, counters] : counters_) report.matchers.push_back(counters);
  return report;
}

// What comes

void RegistryDesk::take(const RelayItem& item) {
  take_item(item);
  tell_news();
}

void RegistryDesk::take_item(const RelayItem& item) {
  const ConnectionId id{item.matcher, item.connection};
  switch (item.kind) {
    case RelayItemKind::request:
      return take_request(item);
    case RelayItemKind::connection_ended:
      return end_connection(id);
    case RelayItemKind::segment_mapped:
      if (const auto found = connections_.find(id); found != connections_.end())
        registry_.pool(matcher::node_of(item.number)).note_mapped(item.number, found->second.process);
      return;
    case RelayItemKind::view_query:
      return answer_view_query(item);
    case RelayItemKind::lease_query:
    case RelayItemKind::lease_ahead_query:
      return take_lease_query(item);
    case RelayItemKind::lease_joined:
      return take_lease_joined(item);
    case RelayItemKind::spill_made:
      return registry_.spill_made(item.number, item.text);
    case RelayItemKind::spill_gone:
      return registry_.spill_gone(item.number);
    case RelayItemKind::looked:
      return registry_.looked(item.number, item.bytes != 0);
    case RelayItemKind::get_waits:
    case RelayItemKind::get_goes_on:
      return take_get_wait(item);
    case RelayItemKind::drain_progress:
    case RelayItemKind::drain_ready:
    case RelayItemKind::drained:
      return take_drain_item(item);
    case RelayItemKind::notice:
      return item.tag != 0 ? detail(item.text) : event(item.text);
    case RelayItemKind::counters:
      counters_[item.matcher] = decode<MatcherStatus>(item.fields);
      return;
    default:
      throw Error(NC_EIO, "matcher " + std::to_string(item.matcher) + " sent what no matcher sends up");
  }
}

/// Errors that concern only the request are its answer; damaged messages end the connection.
void RegistryDesk::take_request(const RelayItem& item) {
  const ConnectionId id{item.matcher, item.connection};
  try {
    if (item.type == MessageType::hello) return greet(item);
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;  // its component has exited since
    const Connection connection = found->second;
    dispatch(item, connection);
  } catch (const Error& error) {
    end_connection(id);
    RelayItem end = item_to(item.matcher, RelayItemKind::hang_up);
    end.connection = item.connection;
    end.text = error.what();
    environment_.send(std::move(end));
  }
}

void RegistryDesk::greet(const RelayItem& item) {
  const auto hello = decode<Hello>(item.fields);
  const auto process = registry_.connect(hello.component, hello.process_token, hello.process_id,
                                         environment_.nodes->place_of(item.matcher),
                                         hello.is_child_of_component ? matcher::Registry::StartedBy::component
                                                                     : matcher::Registry::StartedBy::run);
  connections_[{item.matcher, item.connection}] = {process, hello.component};
}

void RegistryDesk::dispatch(const RelayItem& item, const Connection& connection) {
  const Ticket ticket{item.connection, item.tag, item.matcher};
  const matcher::ProcessId process = connection.process;
  // Decoded outside, answered inside: what throws before is damage.
  const auto serve = [&](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      refused(ticket, error.status(), error.what());
    }
  };
  switch (item.type) {
    case MessageType::create: {
      const auto m = decode<Create>(item.fields);
      return serve([&] {
        registry_.create(ticket, process, {m.key, m.member, m.no_clobber, m.version, m.path, m.is_import});
      });
    }
    case MessageType::open_write: {
      const auto m = decode<Open>(item.fields);
      return serve([&] {
        registry_.open_write(ticket, process, {m.key, m.member, m.path, m.is_on_disk, m.continues});
      });
    }
    case MessageType::open_read: {
      const auto m = decode<Open>(item.fields);
      return serve([&] { registry_.open_read(ticket, process, {m.key, m.member, m.path, m.is_on_disk}); });
    }
    case MessageType::inquire: {
      const auto m = decode<Inquire>(item.fields);
      return serve([&] { registry_.inquire(ticket, process, {m.key, m.member, m.path, m.is_on_disk}); });
    }
    case MessageType::need_segment: {
      const auto m = decode<NeedSegment>(item.fields);
      return serve([&] {
        registry_.need_segment(ticket, process, {m.step, m.use, m.bytes, m.wanted_bytes, m.log, m.is_ahead});
      });
    }
    case MessageType::await_room: {
      auto m = decode<AwaitRoom>(item.fields);
      return serve([&] {
        registry_.await_room(ticket, process, {m.step, m.bytes, m.seen, std::move(m.trouble)});
      });
    }
    case MessageType::header: {
      auto m = decode<HeaderUpdate>(item.fields);
      return serve([&] {
        registry_.set_header(ticket, process, {m.step, std::move(m.header), m.structure});
      });
    }
    case MessageType::sync: {
      const auto m = decode<Sync>(item.fields);
      return serve([&] {
        registry_.sync(ticket, process, {m.step, {m.position, m.record_count, m.requests}});
      });
    }
    case MessageType::remove: {
      const auto m = decode<Remove>(item.fields);
      return serve([&] { registry_.remove(ticket, process, m.key, m.path); });
    }
    default:
      return take_close(item, process);
  }
}

/// What has no answer.
void RegistryDesk::take_close(const RelayItem& item, matcher::ProcessId process) {
  const auto take_note = [&](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      event("connection " + std::to_string(item.connection) + ": " + std::string(message_name(item.type)) +
            ": " + error.what());
    }
  };
  switch (item.type) {
    case MessageType::publish: {
      auto m = decode<Publish>(item.fields);
      return take_note([&] {
        registry_.publish(process,
                          {m.step, m.record_count, m.counters, m.pattern, std::move(m.ranges), m.position});
      });
    }
    case MessageType::discard: {
      const auto m = decode<Discard>(item.fields);
      using FileState = matcher::Registry::FileState;
      return take_note([&] {
        registry_.discard(process, m.step, m.is_untouched ? FileState::untouched : FileState::spoilt);
      });
    }
    case MessageType::close_read: {
      const auto m = decode<CloseRead>(item.fields);
      return take_note([&] { registry_.close_read(process, {m.step, m.counters}); });
    }
    case MessageType::ordinary_file: {
      auto m = decode<OrdinaryFile>(item.fields);
      return take_note([&] { registry_.note_ordinary_file(process, std::move(m)); });
    }
    default:
      throw Error(NC_EIO, "it sent a message of type " + std::to_string(static_cast<unsigned>(item.type)));
  }
}

void RegistryDesk::end_connection(const ConnectionId& id) {
  const auto ended = connections_.extract(id);
  if (!ended.empty()) registry_.disconnect(ended.mapped().process);
}

void RegistryDesk::take_get_wait(const RelayItem& item) {
  const Ticket ticket{item.connection, item.tag, item.matcher};
  if (item.kind == RelayItemKind::get_goes_on) return registry_.end_get_wait(ticket);
  const auto found = connections_.find({item.matcher, item.connection});
  if (found == connections_.end()) return;
  try {
    registry_.wait_for_puts(ticket, found->second.process, item.number, item.text);
  } catch (const Error& error) {
    refused(ticket, error.status(), error.what());
  }
}

// Views

void RegistryDesk::answer_view_query(const RelayItem& item) {
  try {
    tell_view(item.matcher, item.tag, step_of_query(item));
  } catch (const Error& error) {
    RelayItem refusal = item_to(item.matcher, RelayItemKind::view_refused);
    refusal.tag = item.tag;
    refusal.number = item.number;
    refusal.fields = encode(ErrorReply{error.status(), error.what()});
    environment_.send(std::move(refusal));
  }
}

const matcher::Step& RegistryDesk::step_of_query(const RelayItem& item) {
  if (item.connection == 0) return registry_.step(item.number);
  const auto found = connections_.find({item.matcher, item.connection});
  if (found == connections_.end()) throw Error(NC_EIO, "this connection has ended");
  return registry_.step_for_get(found->second.process, item.number);
}

/// None: it has ended.
std::optional<matcher::LandingReader> RegistryDesk::reader_of(const RelayItem& item) const {
  const auto reader = decode<LeaseReader>(item.fields);
  const auto found = connections_.find({reader.matcher, reader.connection});
  if (found == connections_.end()) return std::nullopt;
  return matcher::LandingReader{found->second.process, reader.connection};
}

void RegistryDesk::take_lease_query(const RelayItem& item) {
  const Ticket ticket{item.connection, item.tag, item.matcher};
  try {
    const matcher::MatcherPlace place = environment_.nodes->place_of(item.matcher);
    fetched_by_[registry_.step(item.number).key.rule].insert(place.node);
    const bool is_ahead = item.kind == RelayItemKind::lease_ahead_query;
    registry_.lease_landing(ticket, item.number, place, {item.bytes, item.wanted_bytes, is_ahead},
                            is_ahead ? std::nullopt : reader_of(item));
  } catch (const Error& error) {
    lease_refused(ticket, error.status(), error.what());
  }
}

void RegistryDesk::take_lease_joined(const RelayItem& item) {
  const auto reader = reader_of(item);
  if (reader) registry_.join_landing_wait(item.number, environment_.nodes->place_of(item.matcher), *reader);
}

/// What the registry said while it could not be called back.
void RegistryDesk::tell_news() {
  tell_published();
  order_drains();
  order_looks();
}

void RegistryDesk::order_looks() {
  for (const matcher::LookRequest& request : std::exchange(looks_, {})) {
    RelayItem item = item_to(environment_.nodes->rank_of({request.node, request.index}), RelayItemKind::look);
    item.number = request.number;
    item.fields = encode(request);
    environment_.send(std::move(item));
  }
}

void RegistryDesk::look_again() {
  registry_.look_again();
  tell_news();
}

/// Nodes that fetched data of the last step of a rule are likely to want that of the next one; they come
/// again only if they do. All matchers of such a node are told: one may fetch what processes of another read.
void RegistryDesk::tell_published() {
  for (const matcher::StepId id : std::exchange(published_, {})) {
    try {
      const matcher::Step& step = registry_.step(id);
      std::set<std::uint32_t> concerned;
      for (const std::uint32_t node : std::exchange(fetched_by_[step.key.rule], {})) {
        const std::vector<std::uint32_t>& matchers = environment_.nodes->matchers_of(node);
        concerned.insert(matchers.begin(), matchers.end());
      }
      if (step.publish_at != matcher::PublishAt::close) {  // gets may wait for it
        for (const auto& [matcher, told] : told_[id]) concerned.insert(matcher);
      }
      for (const std::uint32_t matcher : concerned) tell_view(matcher, 0, step);
    } catch (const Error&) {
      // It is gone already.
    }
  }
}

/// Only what has changed since this matcher was told last.
void RegistryDesk::tell_view(std::uint32_t to, std::uint32_t tag, const matcher::Step& step) {
  const auto [entry, is_first] = told_[step.id].try_emplace(to);
  Told& told = entry->second;
  if (tag == 0 && !is_first && told.revision == step.revision) return;
  RelayItem item = item_to(to, RelayItemKind::view);
  item.tag = tag;
  item.number = step.id;
  if (is_first || told.revision != step.revision) {
    matcher::StepView view = step.view();
    if (!is_first && told.header_revision == view.header_revision) view.header.clear();
    told = {view.revision, view.header_revision};
    item.fields = encode(view);
  }
  environment_.send(std::move(item));
}

// The registry's answers

void RegistryDesk::answer(const Ticket& ticket, MessageType type, std::vector<std::byte> fields,
                          matcher::SegmentId introduced) {
  RelayItem item = item_to(ticket.matcher, RelayItemKind::answer);
  item.connection = ticket.connection;
  item.tag = ticket.tag;
  item.type = type;
  item.number = introduced;
  item.fields = std::move(fields);
  environment_.send(std::move(item));
}

void RegistryDesk::created(const Ticket& ticket, const matcher::Step& step) {
  const matcher::SegmentId control = step.control.empty() ? 0 : step.control.id();
  answer(ticket, MessageType::created, encode(Created{step.id, control, step.publish_at}), control);
}

bool RegistryDesk::is_writer(const Ticket& ticket, const matcher::Step& step) const {
  const auto found = connections_.find({ticket.matcher, ticket.connection});
  return found != connections_.end() && step.writers != nullptr &&
         std::ranges::any_of(step.writers->members, [&](const auto& member) {
           return member.second.process == found->second.process;
         });
}

/// The header and where the logs are goes with the view, once to each matcher, and is put in there.
void RegistryDesk::opened(const Ticket& ticket, const matcher::Step& step) {
  tell_view(ticket.matcher, 0, step);
  Opened reply;
  reply.step = step.id;
  reply.version = step.version;
  reply.record_count = step.records_for_readers();
  reply.pattern = step.pattern;
  reply.publish_at = step.publish_at;
  reply.origin = step.origin;
  reply.path = step.path;
  if (!step.control.empty() && is_writer(ticket, step)) reply.control = step.control.id();
  reply.is_continued = step.is_continued && is_writer(ticket, step);
  answer(ticket, MessageType::opened, encode(reply), reply.control);
}

void RegistryDesk::opened_file(const Ticket& ticket, const std::string& path) {
  Opened reply;
  reply.path = path;
  answer(ticket, MessageType::opened, encode(reply));
}

void RegistryDesk::described(const Ticket& ticket, std::uint8_t version) {
  answer(ticket, MessageType::described, encode(Described{version}));
}

void RegistryDesk::granted(const Ticket& ticket, const matcher::SegmentLease& segment) {
  answer(ticket, MessageType::segment, {}, segment.id());
}

void RegistryDesk::room(const Ticket& ticket, std::uint64_t given_back) {
  answer(ticket, MessageType::room, encode(Room{given_back}));
}

void RegistryDesk::leased(const Ticket& ticket, const matcher::SegmentLease& segment) {
  RelayItem reply = item_to(ticket.matcher, RelayItemKind::lease);
  reply.tag = ticket.tag;
  reply.number = segment.id();
  reply.bytes = segment.bytes();
  environment_.send(std::move(reply));
}

void RegistryDesk::lease_refused(const Ticket& ticket, int status, const std::string& text) {
  RelayItem reply = item_to(ticket.matcher, RelayItemKind::lease_refused);
  reply.tag = ticket.tag;
  reply.fields = encode(ErrorReply{status, text});
  environment_.send(std::move(reply));
}

void RegistryDesk::done(const Ticket& ticket) {
  answer(ticket, MessageType::done, {});
}

void RegistryDesk::refused(const Ticket& ticket, int status, const std::string& text) {
  answer(ticket, MessageType::error, encode(ErrorReply{status, text}));
}

void RegistryDesk::erased(matcher::StepId step) {
  if (is_ending_) return;
  for (const auto& [matcher, told] : told_[step]) {
    RelayItem item = item_to(matcher, RelayItemKind::step_erased);
    item.number = step;
    environment_.send(std::move(item));
  }
  told_.erase(step);
}

// Memory

void RegistryDesk::command(RelayItemKind kind, matcher::SegmentId segment, std::uint64_t bytes) {
  RelayItem item = item_to(environment_.nodes->rank_of(matcher::owner_of(segment)), kind);
  item.number = segment;
  item.bytes = bytes;
  environment_.send(std::move(item));
}

void RegistryDesk::create(matcher::SegmentId segment, std::uint64_t bytes) {
  command(RelayItemKind::create_segment, segment, bytes);
}

/// Only matcher 0 tells at once whether there was room.
bool RegistryDesk::create_spilled(matcher::SegmentId segment, std::uint64_t bytes) {
  command(RelayItemKind::spill_segment, segment, bytes);
  return environment_.nodes->rank_of(matcher::owner_of(segment)) == 0;
}

void RegistryDesk::create_logged(matcher::SegmentId segment, std::uint64_t bytes,
                                 const matcher::LogPlace& place) {
  RelayItem item =
      item_to(environment_.nodes->rank_of(matcher::owner_of(segment)), RelayItemKind::log_segment);
  item.number = segment;
  item.bytes = bytes;
  item.wanted_bytes = place.offset_bytes;
  item.text = place.metadata_path;
  item.tag = place.is_kept ? 1 : 0;
  environment_.send(std::move(item));
}

void RegistryDesk::keep_log(matcher::SegmentId segment, bool is_kept) noexcept {
  command(RelayItemKind::keep_log, segment, is_kept ? 1 : 0);
}

void RegistryDesk::clear(matcher::SegmentId segment, matcher::SegmentUse use) {
  if (use != matcher::SegmentUse::data)
    command(RelayItemKind::clear_segment, segment, static_cast<std::uint64_t>(use));
}

/// All matchers of the node: processes of each may have it mapped. Only matcher 0 does it at once, unless
/// data still lands there.
bool RegistryDesk::destroy(matcher::SegmentId segment) noexcept {
  if (is_ending_) return true;
  const bool is_at_once = environment_.nodes->rank_of(matcher::owner_of(segment)) == 0 &&
                          !(environment_.is_held && environment_.is_held(segment));
  for (const std::uint32_t matcher : environment_.nodes->matchers_of(matcher::node_of(segment))) {
    RelayItem item = item_to(matcher, RelayItemKind::destroy_segment);
    item.number = segment;
    environment_.send(std::move(item));
  }
  return is_at_once;
}

void RegistryDesk::drop_warm(matcher::MatcherPlace matcher) noexcept {
  if (!is_ending_) environment_.send(item_to(environment_.nodes->rank_of(matcher), RelayItemKind::drop_warm));
}

std::span<const std::byte> RegistryDesk::contents(matcher::SegmentId segment) {
  throw Error(NC_EIO, "the registry does not look into segment " + std::to_string(segment));
}

void RegistryDesk::mark_gone(matcher::SegmentId control, std::uint32_t rank) noexcept {
  command(RelayItemKind::mark_gone, control, rank);
}

}  // namespace sluice::runtime
