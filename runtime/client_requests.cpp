// What client processes ask of the matcher rank, and what they are told.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "matcher_server.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

SegmentGrant grant_of(const SegmentStore& store, matcher::SegmentId segment, bool is_new) {
  const SegmentExtent extent = store.extent(segment);
  return {segment,
          extent.bytes,
          is_new,
          extent.offset_bytes,
          extent.may_have_name,
          store.has_cheap_faults(segment),
          extent.file};
}

}  // namespace

/// Damaged messages throw, and end the connection.
void MatcherRank::Server::handle_client(Client& client, ReceivedMessage& message) {
  ++requests_;
  if (message.type == MessageType::hello) return greet(client, message);
  if (message.type == MessageType::fetch_segment)
    return lend_to_neighbour(client, decode<FetchSegment>(message.fields).segment);
  if (client.process == nullptr)
    throw Error(NC_EIO, "its first message is " + std::string(message_name(message.type)));
  if (message.type == MessageType::several) {
    const ClientId id = client.id;
    Several all = decode<Several>(message.fields);
    for (Several::Request& request : all.requests) {
      if (request.type == MessageType::several) throw Error(NC_EIO, "a list of messages within another");
      Client* const sender = find(id);
      if (sender == nullptr) return;  // its connection was ended by the one before
      ReceivedMessage part{request.type, request.tag, std::move(request.fields), {}};
      handle_client(*sender, part);
    }
    return;
  }
  if (message.type == MessageType::get) return begin_get(client, message.tag, decode<Get>(message.fields));
  if (message.type == MessageType::put_notice) {
    const auto notice = decode<PutNotice>(message.fields);
    return client.process->has_open(notice.step) ? retry_gets(notice.step) : void();
  }
  pass_on(client, message);
}

void MatcherRank::Server::greet(Client& client, const ReceivedMessage& message) {
  const auto hello = decode<Hello>(message.fields);
  if (client.process != nullptr) throw Error(NC_EIO, "it says hello twice");
  if (tree_.rank() == 0 && !desk_)
    return send_error(client, message.tag, NC_EIO, "the matcher is not ready yet");
  if (hello.protocol != protocol_version || hello.library_version != library_version) {
    return send_error(client, message.tag, NC_EIO,
                      "the program's Sluice library is version " + hello.library_version + " (protocol " +
                          std::to_string(hello.protocol) + "), the matcher is version " +
                          std::string(library_version) + " (protocol " + std::to_string(protocol_version) +
                          "): use one installation for both");
  }
  client.process = &processes_.connect(hello.component, hello.process_token, hello.process_id);
  RelayItem item;
  item.kind = RelayItemKind::request;
  item.connection = client.id;
  item.type = MessageType::hello;
  item.tag = message.tag;
  item.fields = message.fields;
  tree_.send_up(std::move(item));
  const std::uint32_t rank = tree_.rank();
  send(client, MessageType::welcome, message.tag,
       encode(Welcome{protocol_version, std::string(library_version), rank, nodes_.place_of(rank).node}));
}

/// To the registry, as it came; that looks at it.
void MatcherRank::Server::pass_on(Client& client, ReceivedMessage& message) {
  switch (message.type) {
    case MessageType::publish:
    case MessageType::discard:
    case MessageType::close_read:
      note_close(client, message);
      break;
    case MessageType::create:
    case MessageType::open_write:
    case MessageType::open_read:
    case MessageType::inquire:
    case MessageType::need_segment:
    case MessageType::await_room:
    case MessageType::header:
    case MessageType::sync:
    case MessageType::remove:
    case MessageType::ordinary_file:
      break;
    default:
      throw Error(NC_EIO, "it sent a message of type " + std::to_string(static_cast<unsigned>(message.type)));
  }
  RelayItem item;
  item.kind = RelayItemKind::request;
  item.connection = client.id;
  item.type = message.type;
  item.tag = message.tag;
  item.fields = std::move(message.fields);
  tree_.send_up(std::move(item));
}

/// The process may forget where the step's data is; it will be told again. All three messages begin with the
/// step.
void MatcherRank::Server::note_close(Client& client, const ReceivedMessage& message) {
  matcher::StepId step = 0;
  if (message.fields.size() < sizeof step) throw Error(NC_EIO, "a message without a step");
  std::memcpy(&step, message.fields.data(), sizeof step);
  client.process->note_close(step);
  for (auto& [id, other] : clients_) {
    if (other.process == client.process) other.told.erase(step);
  }
}

// Gets

void MatcherRank::Server::begin_get(Client& client, std::uint32_t tag, Get request) {
  const std::uint64_t step = request.step;
  if (!client.process->has_open(step)) {
    return send_error(client, tag, NC_EBADID,
                      client.name() + " does not have step " + std::to_string(step) + " open");
  }
  continue_get({client.id, tag, std::move(request)});
}

/// With a new view, if the step still grows.
void MatcherRank::Server::continue_get(WaitingGet waiting) {
  if (link_) return begin_shared_get(std::move(waiting));
  const KnownStep* const known = known_steps_.find(waiting.request.step);
  // Before the view comes, which tells of the request tables that there are.
  if (known != nullptr && known->may_wait(waiting.request.is_by_writer)) await_puts(waiting.request.step);
  const std::uint64_t step = waiting.request.step;
  const ClientId id = waiting.client;
  with_view(step, id,
            [this, waiting = std::move(waiting)](const Outcome& outcome, const StepViewPointer&) mutable {
              Client* const receiver = find(waiting.client);
              if (receiver == nullptr) return;
              Outcome end = outcome;
              try {
                if (!end.is_failure()) answer_get_of(*receiver, waiting);
              } catch (const Error& error) {
                end = {error.status(), error.what()};
              }
              if (!end.is_failure()) return;
              release_get(waiting);
              send_error(*receiver, waiting.tag, end.status, end.text);
            });
}

/// A step that is published is known for good; of one that is being written, the newest view is asked for.
/// `connection`: whose process must have the step open; 0: nobody's.
void MatcherRank::Server::with_view(std::uint64_t step, ClientId connection, ViewReceiver receiver) {
  const KnownStep* const known = known_steps_.find(step);
  if (known != nullptr && known->view->is_final) return receiver({}, known->view);
  RelayItem query;
  query.kind = RelayItemKind::view_query;
  query.connection = connection;
  query.tag = new_query();
  query.number = step;
  waiting_views_.insert_or_assign(query.tag, std::move(receiver));
  tree_.send_up(std::move(query));
}

std::uint32_t MatcherRank::Server::new_query() noexcept {
  if (next_query_ == 0) next_query_ = 1;  // 0 is for views that nobody asked for
  return next_query_++;
}

/// Where this is the only matcher.
void MatcherRank::Server::answer_get_of(Client& client, WaitingGet& waiting) {
  const Get& request = waiting.request;
  KnownStep* const known = known_steps_.find(request.step);
  if (known == nullptr) throw Error(NC_EBADID, "step " + std::to_string(request.step) + " is no more");
  const matcher::StepView& view = *known->view;
  matcher::StepIndex& index = known->index_for(store_, request);
  if (known->may_wait(request.is_by_writer)) {
    const int varid = unwritten_variable(index, request);
    if (varid >= 0) return hold_get(waiting, varid);
    if (!held_gets_.contains(request.step) && view.control != 0) store_.set_awaited(view.control, false);
  }
  release_get(waiting);
  Plans answer = answer_get(index, request, client.told[request.step]);
  answer.record_count = known->record_count();
  if (view.is_final) used_logs_.note(client.process->id, view.rule, view.pattern, answer.ranges);
  for (const LogRange& range : answer.ranges) introduce_segment(client, range.segment);
  send(client, MessageType::plans, waiting.tag, encode(answer));
}

// Sending

void MatcherRank::Server::send(Client& client, MessageType type, std::uint32_t tag,
                               std::vector<std::byte> fields) {
  announce_drops(client);
  client.socket->send(type, tag, std::move(fields));
  if (!client.socket->trouble().empty()) troubled_.insert(client.id);
}

void MatcherRank::Server::send_error(Client& client, std::uint32_t tag, int status, const std::string& text) {
  send(client, MessageType::error, tag, encode(ErrorReply{status, text}));
}

void MatcherRank::Server::send_segment(Client& client, std::uint32_t tag, matcher::SegmentId segment) {
  if (!client.known_segments.insert(segment).second)
    return send(client, MessageType::segment, tag, encode(grant_of(store_, segment, false)));
  (void)store_.descriptor(segment);  // throws where it could not be made
  RelayItem note;
  note.kind = RelayItemKind::segment_mapped;
  note.connection = client.id;
  note.number = segment;
  tree_.send_up(std::move(note));
  announce_drops(client);
  send_grant(client, tag, segment);
  if (!client.socket->trouble().empty()) troubled_.insert(client.id);
}

/// With the descriptor of its file, unless the connection has had that.
void MatcherRank::Server::send_grant(Client& client, std::uint32_t tag, matcher::SegmentId segment) {
  const auto descriptor = store_.descriptor(segment);
  const std::uint64_t file = store_.extent(segment).file;
  const bool is_new = file == 0 || client.known_files.insert(file).second;
  const auto grant = encode(grant_of(store_, segment, is_new));
  const std::array<int, 1> descriptors{descriptor->number()};
  client.socket->send(MessageType::segment, tag, grant,
                      is_new ? std::span<const int>(descriptors) : std::span<const int>{});
}

/// Sends the segment's descriptor ahead of an answer that names it, unless the client has it.
void MatcherRank::Server::introduce_segment(Client& client, matcher::SegmentId segment) {
  if (!client.known_segments.contains(segment)) send_segment(client, 0, segment);
}

/// Only ahead of an answer: a client that is busy elsewhere does not read, and needs to know no sooner.
void MatcherRank::Server::announce_drops(Client& client) {
  collect_destroyed_segments();
  if (client.dropped_segments.empty()) return;
  const DropSegments notice{std::exchange(client.dropped_segments, {})};
  client.socket->send(MessageType::drop_segments, 0, encode(notice));
}

void MatcherRank::Server::collect_destroyed_segments() {
  for (const matcher::SegmentId segment : store_.take_destroyed()) {
    for (auto& [id, client] : clients_) {
      if (client.known_segments.erase(segment) != 0) client.dropped_segments.push_back(segment);
    }
  }
}

// Other matchers of the node

/// A neighbour may hear of a segment from the registry sooner than this matcher, which is to make it.
void MatcherRank::Server::lend_to_neighbour(Client& client, matcher::SegmentId segment) {
  if (store_.is_expected(segment)) {
    waiting_neighbours_[segment].push_back(client.id);
    return;
  }
  if (!store_.contains(segment) || store_.extent(segment).bytes == 0)
    return send(client, MessageType::segment, 0, encode(SegmentGrant{segment, 0, false}));
  send_grant(client, 0, segment);
}

void MatcherRank::Server::serve_waiting_neighbours(matcher::SegmentId segment) {
  const auto waiting = waiting_neighbours_.extract(segment);
  if (waiting.empty()) return;
  for (const ClientId id : waiting.mapped()) {
    if (Client* const client = find(id)) lend_to_neighbour(*client, segment);
  }
}

}  // namespace sluice::runtime
