#include "client_requests.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

/// Damaged messages throw; this ends the connection.
void ClientRequests::handle(Client& client, ReceivedMessage& message) {
  ++count_;
  if (message.type == MessageType::hello) return greet(client, message);
  if (message.type == MessageType::fetch_segment)
    return parts_.segments.lend(client, decode<FetchSegment>(message.fields).segment);
  if (client.process == nullptr)
    throw Error(NC_EIO, "its first message is " + std::string(message_name(message.type)));
  if (message.type == MessageType::batch) return take_batch(client.id, decode<Batch>(message.fields));
  if (message.type == MessageType::get) return gets_.begin(client, message.tag, decode<Get>(message.fields));
  if (message.type == MessageType::open_file)
    return written_.open(client, message.tag, decode<OpenFile>(message.fields));
  if (message.type == MessageType::file_holders)
    return written_.note(client, decode<FileHolder>(message.fields));
  if (message.type == MessageType::remove_file)
    return written_.remove(client, message.tag, decode<Remove>(message.fields));
  if (message.type == MessageType::image &&
      written_.give_image(client, message.tag, decode<ImageRequest>(message.fields)))
    return;
  const bool opens = message.type == MessageType::open_read || message.type == MessageType::inquire;
  if (opens && is_held_back(client, message)) return;
  if (message.type == MessageType::newest_image)
    return begin_newest_image(client, message.tag, decode<NewestImageRequest>(message.fields));
  if (message.type == MessageType::put_notice) {
    const auto notice = decode<PutNotice>(message.fields);
    return client.process->has_open(notice.step) ? parts_.deferred.retry(notice.step) : void();
  }
  pass_on(client, message);
}

/// What has been closed before is published before.
bool ClientRequests::is_held_back(const Client& client, ReceivedMessage& message) {
  const std::string path = decode<OpenRequest>(message.fields).path;
  if (!written_.is_publishing(path)) return false;
  // Shared because functions are copied.
  const auto held = std::make_shared<ReceivedMessage>(std::move(message));
  written_.when_published(path, [this, id = client.id, held] {
    Client* const waiting = parts_.clients.find(id);
    if (waiting != nullptr && !is_held_back(*waiting, *held)) pass_on(*waiting, *held);
  });
  return true;
}

void ClientRequests::take_batch(ClientId sender, Batch batch) {
  for (Batch::Request& request : batch.requests) {
    if (request.type == MessageType::batch) throw Error(NC_EIO, "a batch within a batch");
    Client* const client = parts_.clients.find(sender);
    if (client == nullptr) return;  // the previous request ended the connection
    ReceivedMessage part{request.type, request.tag, std::move(request.fields), {}};
    handle(*client, part);
  }
}

void ClientRequests::greet(Client& client, const ReceivedMessage& message) {
  const auto hello = decode<Hello>(message.fields);
  if (client.process != nullptr) throw Error(NC_EIO, "it says hello twice");
  if (!registry_.is_ready())
    return parts_.clients.send_error(client, message.tag, NC_EIO, "the matcher is not ready yet");
  if (hello.protocol != protocol_version || hello.library_version != library_version) {
    return parts_.clients.send_error(
        client, message.tag, NC_EIO,
        "the program's Sluice library is version " + hello.library_version + " (protocol " +
            std::to_string(hello.protocol) + "), the matcher is version " + std::string(library_version) +
            " (protocol " + std::to_string(protocol_version) + "): use one installation for both");
  }
  parts_.clients.connect_process(client, hello);
  parts_.base.tree.send_up(ClientRequest{client.id, MessageType::hello, message.tag, message.fields});
  const std::uint32_t rank = parts_.base.rank();
  parts_.clients.send(
      client, MessageType::welcome, message.tag,
      encode(Welcome{protocol_version, std::string(library_version), rank, parts_.base.node()}));
}

/// Passes the message to the registry unchanged; the registry decodes it.
void ClientRequests::pass_on(Client& client, ReceivedMessage& message) {
  switch (message.type) {
    case MessageType::publish:
    case MessageType::discard:
    case MessageType::close_read:
      note_close(client, message);
      break;
    case MessageType::create:
    case MessageType::open_write:
    case MessageType::open_read:
      client.opening = {message.tag, message.type, 0};
      break;
    case MessageType::inquire:
    case MessageType::image:
    case MessageType::need_segment:
    case MessageType::await_disk:
    case MessageType::header:
    case MessageType::sync:
    case MessageType::remove:
    case MessageType::change_file:
    case MessageType::ordinary_file:
    case MessageType::gathering:
    case MessageType::list:
    case MessageType::watch:
      break;
    default:
      throw Error(NC_EIO, "it sent a message of type " + std::to_string(static_cast<unsigned>(message.type)));
  }
  parts_.base.tree.send_up(ClientRequest{client.id, message.type, message.tag, std::move(message.fields)});
}

/// An open for reading, an image and a close in one: ClientAnswers and ClientConnections go on with it.
void ClientRequests::begin_newest_image(Client& client, std::uint32_t tag,
                                        const NewestImageRequest& request) {
  if (client.process->component != matcher::attached_name)
    throw Error(NC_EIO, "it asks for a newest image, and is not attached");
  client.attached_reads[tag] = 0;
  const Member alone{random_number() >> 1, 0, 1, false};
  parts_.base.tree.send_up(ClientRequest{client.id, MessageType::open_read, tag,
                                         encode(OpenRequest{request.key, alone, request.path, false})});
}

/// The process may forget where the step's data is, so the matcher will tell it again. All three messages
/// begin with the step.
void ClientRequests::note_close(Client& client, const ReceivedMessage& message) {
  matcher::StepId step = 0;
  if (message.fields.size() < sizeof step) throw Error(NC_EIO, "a message without a step");
  std::memcpy(&step, message.fields.data(), sizeof step);
  client.process->note_close(step);
  parts_.clients.forget_announced(*client.process, step);
}

void ClientRequests::ended(ClientId client, matcher::ProcessId process, EndKind kind) {
  parts_.history.forget(process);
  if (kind == EndKind::told) parts_.base.tree.send_up(ConnectionEnded{client});
}

}  // namespace sluice::runtime
