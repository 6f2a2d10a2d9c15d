#include "client_requests.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/send_time.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

/// Damaged messages throw; this ends the connection.
void ClientRequests::handle(Client& client, ReceivedMessage& message) {
  ++count_;
  const ClientId sender = client.id;
  const std::uint64_t now = shared_clock();
  offers_.take_mail(message.time == 0 ? now : std::min(message.time, now));
  // The mail may have been damaged: the connection ends at the end of the turn.
  Client* const still = parts_.clients.find(sender);
  if (still != nullptr && still->trouble().empty()) handle_one(*still, message);
}

void ClientRequests::handle_one(Client& client, ReceivedMessage& message) {
  if (message.type == MessageType::hello) return greet(client, message.tag, decode<Hello>(message.fields));
  if (message.type == MessageType::fetch_segment)
    return parts_.segments.lend(client, decode<FetchSegment>(message.fields).segment);
  if (client.process == nullptr)
    throw Error(NC_EIO, "its first message is " + std::string(message_name(message.type)));
  switch (message.type) {
    case MessageType::batch:
      return take_batch(client.id, decode<Batch>(message.fields));
    case MessageType::get:
      return gets_.begin(client, message.tag, decode<Get>(message.fields));
    case MessageType::open_file:
      return written_.open(client, message.tag, decode<OpenFile>(message.fields));
    case MessageType::file_holders:
      return written_.note(client, decode<FileHolder>(message.fields));
    case MessageType::name_file:
      return written_.name(client, message.tag, decode<NameFile>(message.fields));
    case MessageType::await_file:
      return written_.await(client, message.tag, decode<AwaitFile>(message.fields));
    case MessageType::open:
      return open(client, message.tag, decode<Open>(message.fields));
    case MessageType::list:
      return list(client, message.tag, decode<ListRequest>(message.fields));
    case MessageType::put_notice:
      return take_notice(client, decode<PutNotice>(message.fields));
    case MessageType::log_notice:
      return take_notice(client, decode<LogNotice>(message.fields));
    default:
      return pass_on(client, message.tag, registry_request(message.type, message.fields));
  }
}

void ClientRequests::take_notice(const Client& client, const PutNotice& notice) {
  if (client.process->has_open(notice.step)) parts_.deferred.retry(notice.step);
}

void ClientRequests::take_notice(const Client& client, const LogNotice& notice) {
  if (notice.is_removed) return parts_.base.store.forget_log(notice.metadata_path);
  parts_.base.store.expect_log(client.process->id, notice.metadata_path);
}

void ClientRequests::take_batch(ClientId sender, Batch batch) {
  for (Batch::Request& request : batch.requests) {
    if (request.type == MessageType::batch) throw Error(NC_EIO, "a batch within a batch");
    Client* const client = parts_.clients.find(sender);
    if (client == nullptr || !client->trouble().empty()) return;  // the previous request ended the connection
    ReceivedMessage part{request.type, request.tag, std::move(request.fields), {}, 0};
    ++count_;
    handle_one(*client, part);
  }
}

void ClientRequests::greet(Client& client, std::uint32_t tag, const Hello& hello) {
  if (client.process != nullptr) throw Error(NC_EIO, "it says hello twice");
  if (!is_ready_()) return parts_.clients.send_error(client, tag, NC_EIO, "the matcher is not ready yet");
  if (hello.protocol != protocol_version || hello.library_version != library_version) {
    return parts_.clients.send_error(
        client, tag, NC_EIO,
        "the program's Sluice library is version " + hello.library_version + " (protocol " +
            std::to_string(hello.protocol) + "), the matcher is version " + std::string(library_version) +
            " (protocol " + std::to_string(protocol_version) + "): use one installation for both");
  }
  parts_.clients.connect_process(client, hello);
  parts_.base.tree.send_up(ClientRequest{client.id, tag, hello});
  const std::uint32_t rank = parts_.base.rank();
  const std::vector<SharedFile> pages(parts_.base.names.page() ? 1 : 0, parts_.base.names.page());
  parts_.clients.send(
      client, MessageType::welcome, tag,
      encode(Welcome{protocol_version, std::string(library_version), rank, parts_.base.node()}), pages);
}

void ClientRequests::pass_on(Client& client, std::uint32_t tag, RegistryRequest request) {
  if (auto* const close = std::get_if<Close>(&request)) note_close(client, *close);
  if (const auto* const open = std::get_if<Open>(&request)) {
    if (open->purpose != Purpose::read) parts_.base.names.change_all(open->path);
    if (tag != 0 && (open->purpose == Purpose::read || open->writes()))
      client.opening = {tag, open->purpose, 0};
  }
  parts_.base.tree.send_up(ClientRequest{client.id, tag, std::move(request)});
}

void ClientRequests::open(Client& client, std::uint32_t tag, Open open) {
  const bool wants_bytes = open.wants == Open::Form::bytes;
  if (open.taken.step != 0) throw Error(NC_EIO, "it takes by a message what is only offered by a page");
  if (wants_bytes && open.purpose == Purpose::remove) return written_.remove(client, tag, open);
  if (wants_bytes && open.purpose != Purpose::read)
    throw Error(NC_EIO, "it wants bytes of a file, and does not read or remove it");
  if (client.rights != nullptr && (open.writes() || open.purpose == Purpose::remove))
    return parts_.clients.send_error(client, tag, NC_EPERM, "another user writes by the C library alone");
  if (wants_bytes) begin_image(client, tag, open);
  pass_on(client, tag, std::move(open));
}

/// An open for reading, an image and a close in one: ClientAnswers and ClientConnections go on with it. For
/// who is attached, the step does not count as read.
void ClientRequests::begin_image(Client& client, std::uint32_t tag, const Open& open) {
  Client::ImageRead& read = client.image_reads[tag] = {};
  read.path = open.path;
  if (client.process->component == matcher::attached_name) return;
  read.is_counted = true;
  read.is_kept = open.is_kept;
  read.begin = std::chrono::steady_clock::now();
}

void ClientRequests::list(Client& client, std::uint32_t tag, ListRequest request) {
  if (!request.is_written) return pass_on(client, tag, std::move(request));
  parts_.clients.send(client, MessageType::listing, tag, encode(written_.list(request)));
}

/// The process may forget where the step's data is, so the matcher will tell it again.
void ClientRequests::note_close(Client& client, Close& close) {
  const matcher::StepId step = close.step();
  client.process->note_close(step);
  parts_.clients.forget_announced(*client.process, step);
  // Of a step that was kept: the process does not know how long it has waited for it.
  if (auto* const end = std::get_if<ReadEnd>(&close.how)) {
    if (const auto kept = client.process->kept_steps.extract(step)) end->counters = kept.mapped();
  }
}

// Offers

OfferClients::PageMemory ClientRequests::memory_of(matcher::SegmentId page) {
  return {parts_.base.store.writable(page), parts_.base.store.keep_mapped(page)};
}

OfferMember ClientRequests::member_of(std::uint64_t connection) {
  const Client* const client = parts_.clients.find(connection);
  if (client == nullptr || client->process == nullptr) throw Error(NC_EIO, "the connection has ended");
  return {client->process->id, connection};
}

/// Null when the process has ended.
Client* ClientRequests::client_of(const OfferMember& member) {
  Client* const first = parts_.clients.find(member.connection);
  return first != nullptr ? first : parts_.clients.find_of(member.process);
}

void ClientRequests::introduce(const OfferMember& member, matcher::SegmentId segment) {
  Client* const client = client_of(member);
  if (client == nullptr) throw Error(NC_EIO, "the process has ended");
  parts_.segments.introduce(*client, segment);
}

bool ClientRequests::is_behind(const OfferMember& member) {
  const Client* const client = client_of(member);
  return client != nullptr && client->socket->has_queue();
}

void ClientRequests::tell(const OfferMember& member, const OffersNotice& notice) {
  if (!std::exchange(is_looking_, true)) take_mail_now_and_then();
  parts_.base.names.stop();  // these steps come without a message
  if (Client* const client = client_of(member))
    parts_.clients.send(*client, MessageType::offers, 0, encode(notice));
}

void ClientRequests::note_open(const OfferMember& member, matcher::StepId step) {
  if (const Client* const client = client_of(member)) client->process->note_open(step);
}

/// Nobody wakes the matcher for the mail of pages that are quiet.
void ClientRequests::take_mail_now_and_then() {
  constexpr std::chrono::milliseconds interval{100};
  mail_timer_.expires_after(interval);
  mail_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    take_mail();
    parts_.clients.end_troubled();
    take_mail_now_and_then();
  });
}

void ClientRequests::take_mail_later() {
  boost::asio::post(parts_.base.loop, [this] {
    take_mail();
    parts_.clients.end_troubled();
  });
}

void ClientRequests::handle(const OfferMember& sender, OfferPage::Letter letter) {
  Client* const client = client_of(sender);
  if (client == nullptr || !client->trouble().empty()) return;
  ReceivedMessage message{letter.type, 0, std::move(letter.fields), {}, 0};
  if (letter.type != MessageType::open) return handle_one(*client, message);
  pass_on(*client, 0, registry_request(message.type, message.fields));
}

void ClientRequests::hang_up(const OfferMember& sender, const std::string& reason) {
  if (const Client* const client = client_of(sender)) parts_.clients.hang_up(client->id, reason);
}

void ClientRequests::ended(ClientId client, matcher::ProcessId process, EndKind kind) {
  parts_.history.forget(process);
  if (kind == EndKind::told) parts_.base.tree.send_up(ConnectionEnded{client});
}

}  // namespace sluice::runtime
