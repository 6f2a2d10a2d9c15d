// What client processes ask of the matcher rank, and what they are told.
#include <algorithm>
#include <array>
#include <utility>

#include "matcher_server.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

using matcher::Ticket;

/// Errors that concern only the request are told to the client; damaged messages throw, and end the
/// connection.
void MatcherRank::Server::handle_client(Client& client, const ReceivedMessage& message) {
  if (message.type == MessageType::hello) return greet(client, message);
  if (!client.process) throw Error(NC_EIO, "its first message is " + std::string(message_name(message.type)));
  dispatch(client, message);
}

void MatcherRank::Server::greet(Client& client, const ReceivedMessage& message) {
  const auto hello = decode<Hello>(message.fields);
  if (client.process) throw Error(NC_EIO, "it says hello twice");
  if (!registry_) return send_error(client, message.tag, NC_EIO, "the matcher is not ready yet");
  if (hello.protocol != protocol_version || hello.library_version != library_version) {
    return send_error(client, message.tag, NC_EIO,
                      "the program's Sluice library is version " + hello.library_version + " (protocol " +
                          std::to_string(hello.protocol) + "), the matcher is version " +
                          std::string(library_version) + " (protocol " + std::to_string(protocol_version) +
                          "): use one installation for both");
  }
  client.component = hello.component;
  client.process = registry_->connect(hello.component, hello.process_token, hello.process_id);
  send(client, MessageType::welcome, message.tag,
       encode(Welcome{protocol_version, std::string(library_version), 0}));
}

void MatcherRank::Server::dispatch(Client& client, const ReceivedMessage& message) {
  const Ticket ticket{client.id, message.tag};
  const matcher::ProcessId process = *client.process;
  // Decoded outside, answered inside: what throws before is damage.
  const auto serve = [&](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      send_error(client, message.tag, error.status(), error.what());
    }
  };
  const auto take_note = [&](auto&& call) {  // no answer
    try {
      call();
    } catch (const Error& error) {
      event(client.name() + ": " + std::string(message_name(message.type)) + ": " + error.what());
    }
  };
  switch (message.type) {
    case MessageType::create: {
      const auto m = decode<Create>(message.fields);
      return serve([&] { registry_->create(ticket, process, {m.key, m.member, m.no_clobber, m.version}); });
    }
    case MessageType::open_write: {
      const auto m = decode<Open>(message.fields);
      return serve([&] { registry_->open_write(ticket, process, {m.key, m.member}); });
    }
    case MessageType::open_read: {
      const auto m = decode<Open>(message.fields);
      return serve([&] { registry_->open_read(ticket, process, {m.key, m.member}); });
    }
    case MessageType::need_segment: {
      const auto m = decode<NeedSegment>(message.fields);
      return serve([&] {
        registry_->need_segment(ticket, process, {m.step, m.use, m.bytes, m.wanted_bytes});
      });
    }
    case MessageType::header: {
      auto m = decode<HeaderUpdate>(message.fields);
      return serve([&] {
        registry_->set_header(ticket, process, {m.step, std::move(m.header), m.structure});
      });
    }
    case MessageType::get: {
      const auto m = decode<Get>(message.fields);
      return serve([&] { answer_get_of(client, message.tag, m); });
    }
    case MessageType::remove: {
      const auto m = decode<Remove>(message.fields);
      return serve([&] { registry_->remove(ticket, process, m.key); });
    }
    case MessageType::publish: {
      auto m = decode<Publish>(message.fields);
      close_step(client, m.step);
      return take_note([&] {
        registry_->publish(process, {m.step, m.record_count, m.counters, m.pattern, std::move(m.ranges)});
      });
    }
    case MessageType::discard: {
      const auto m = decode<Discard>(message.fields);
      close_step(client, m.step);
      return take_note([&] { registry_->discard(process, m.step); });
    }
    case MessageType::close_read: {
      const auto m = decode<CloseRead>(message.fields);
      close_step(client, m.step);
      return take_note([&] { registry_->close_read(process, {m.step, m.counters}); });
    }
    default:
      throw Error(NC_EIO, "it sent a message of type " + std::to_string(static_cast<unsigned>(message.type)));
  }
}

/// The process may forget where the step's data is; it will be told again.
void MatcherRank::Server::close_step(const Client& client, matcher::StepId step) {
  for (auto& [id, other] : clients_) {
    if (other.process == client.process) other.told.erase(step);
  }
}

void MatcherRank::Server::answer_get_of(Client& client, std::uint32_t tag, const Get& request) {
  const matcher::Step& step = registry_->step_for_get(*client.process, request.step);
  KnownStep* known = known_steps_.find(step.id);
  if (known == nullptr || known->view.revision != step.revision) known = &known_steps_.take(step.view());
  if (known->index == nullptr) {
    auto index = std::make_unique<matcher::StepIndex>(store_);
    index->set_header(known->view.header);
    known->index = std::move(index);
  }
  known->index->update(known->view.logs, known->view.is_final);
  const Plans answer = answer_get(*known->index, request, client.told[step.id]);
  if (known->view.is_final) used_logs_.note(*client.process, step.key.rule, step.pattern, answer.ranges);
  for (const LogRange& range : answer.ranges) introduce_segment(client, range.segment);
  send(client, MessageType::plans, tag, encode(answer));
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
  const bool is_new = client.known_segments.insert(segment).second;
  const SegmentGrant grant{segment, store_.bytes(segment), is_new};
  if (!is_new) return send(client, MessageType::segment, tag, encode(grant));
  registry_->pool().note_mapped(segment, *client.process);
  announce_drops(client);
  const std::array<int, 1> descriptors{store_.descriptor(segment)};
  client.socket->send(MessageType::segment, tag, encode(grant), descriptors);
  if (!client.socket->trouble().empty()) troubled_.insert(client.id);
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

MatcherRank::Server::Client* MatcherRank::Server::find(const Ticket& ticket) {
  const auto found = clients_.find(ticket.connection);
  return found == clients_.end() ? nullptr : &found->second;
}

// The registry's answers

void MatcherRank::Server::created(const Ticket& ticket, const matcher::Step& step) {
  Client* const client = find(ticket);
  if (client == nullptr) return;
  introduce_segment(*client, step.control.id());
  send(*client, MessageType::created, ticket.tag, encode(Created{step.id, step.control.id()}));
}

void MatcherRank::Server::opened(const Ticket& ticket, const matcher::Step& step) {
  Client* const client = find(ticket);
  if (client == nullptr) return;
  Opened answer;
  answer.step = step.id;
  answer.version = step.version;
  answer.record_count = step.record_count;
  answer.header = step.header;
  answer.pattern = step.pattern;
  if (step.state == matcher::StepState::published) {
    for (const std::uint32_t writer : used_logs_.writers(*client->process, step.key.rule, step.pattern)) {
      if (writer >= step.logs.size()) continue;
      const std::vector<LogRange>& ranges = step.logs[writer]->ranges;
      answer.ranges.insert(answer.ranges.end(), ranges.begin(), ranges.end());
    }
    for (const LogRange& range : answer.ranges) introduce_segment(*client, range.segment);
  }
  if (!step.control.empty()) {
    answer.control = step.control.id();
    introduce_segment(*client, answer.control);
  }
  send(*client, MessageType::opened, ticket.tag, encode(answer));
}

void MatcherRank::Server::granted(const Ticket& ticket, const matcher::SegmentLease& segment) {
  if (Client* const client = find(ticket)) send_segment(*client, ticket.tag, segment.id());
}

void MatcherRank::Server::done(const Ticket& ticket) {
  if (Client* const client = find(ticket)) send(*client, MessageType::done, ticket.tag, {});
}

void MatcherRank::Server::refused(const Ticket& ticket, int status, const std::string& text) {
  if (Client* const client = find(ticket)) send_error(*client, ticket.tag, status, text);
}

}  // namespace sluice::runtime
