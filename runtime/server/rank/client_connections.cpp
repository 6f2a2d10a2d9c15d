#include "client_connections.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <chrono>
#include <span>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

using boost::asio::posix::stream_descriptor;

namespace {
/// Messages of one connection that are handled in a row, before others have their turn.
constexpr std::size_t turn_messages = 32;
constexpr std::size_t all_messages = 1U << 20;
}  // namespace

ClientConnections::ClientConnections(MatcherBase& base, std::string socket_path, const std::string& door,
                                     ClientHandler& handler)
    : base_(base),
      handler_(handler),
      socket_path_(std::move(socket_path)),
      listener_(listen_at(socket_path_)),
      listener_watch_(base.loop, listener_.number()),
      door_(listen_at_door(door)),
      door_watch_(base.loop),
      accept_pause_(base.loop),
      spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  if (door_) door_watch_.assign(door_.number());
}

ClientConnections::~ClientConnections() {
  listener_watch_.release();
  if (door_) door_watch_.release();
  ::unlink(socket_path_.c_str());
}

void ClientConnections::listen() {
  listen(listener_watch_);
  if (door_) listen(door_watch_);
}

void ClientConnections::listen(stream_descriptor& watch) {
  watch.async_wait(stream_descriptor::wait_read, [this, &watch](const boost::system::error_code& error) {
    if (error) return;
    try {
      accept_clients();
      listen(watch);
    } catch (const Error& failure) {  // no descriptor is free; a later connection may still be served
      base_.log.event(std::string("a connection cannot be accepted now: ") + failure.what());
      turn_away();
      accept_pause_.expires_after(std::chrono::milliseconds(100));
      accept_pause_.async_wait([this, &watch](const boost::system::error_code&) { listen(watch); });
    }
  });
}

void ClientConnections::accept_clients() {
  for (;;) {
    try {
      auto socket = accept_connection(listener_);
      if (!socket && door_) socket = accept_of_any_user(door_);
      if (!socket) return;
      add(std::move(*socket));
    } catch (const Error& error) {
      if (error.status() != NC_EPERM) throw;
      base_.log.event(std::string("a connection was turned away: ") + error.what());
    }
  }
}

/// No descriptor is free for the next connection: tells its process so.
void ClientConnections::turn_away() {
  spare_.reset();
  try {
    if (const auto socket = accept_connection(listener_)) {
      // The process says hello as soon as it is connected. If that were left unread, the answer would be
      // lost.
      constexpr int patience_ms = 20;
      pollfd wait{socket->descriptor(), POLLIN, 0};
      (void)::poll(&wait, 1, patience_ms);
      ReceivedMessage hello;
      (void)socket->try_receive(hello);
      const ErrorReply reply{NC_ENFILE,
                             "the matcher has no file descriptor left for another connection: raise the hard "
                             "limit (ulimit -Hn), or use more matchers a node (staging.matchers)"};
      (void)socket->try_send({MessageType::error, hello.tag, encode(reply)});
    }
  } catch (const Error&) {
    // The process has gone, or belongs to another user.
  }
  spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool ClientConnections::is_somebody_connecting() const {
  std::array<pollfd, 2> waiting{{{listener_.number(), POLLIN, 0}, {door_.number(), POLLIN, 0}}};  // or -1
  if (::poll(waiting.data(), waiting.size(), 0) > 0) return true;
  return std::ranges::any_of(clients_, [](const auto& entry) {
    return entry.second.process == nullptr && !entry.second.is_neighbour;
  });
}

void ClientConnections::add(PacketSocket socket) {
  auto rights = UserRights::of_peer(socket.descriptor());  // first: it may throw
  const ClientId id = next_client_++;
  Client& client = clients_[id];
  client.id = id;
  client.rights = std::move(rights);
  client.socket =
      std::make_unique<WatchedSocket>(base_.loop, std::move(socket), [this, id] { on_client(id); });
  client.socket->read_on();
  if (readable_) readable_->add(client.socket->socket().descriptor(), id);
}

void ClientConnections::on_client(ClientId id) {
  drain(id, turn_messages);
  end_troubled();
  if (const auto found = clients_.find(id); found != clients_.end()) found->second.socket->read_on();
}

/// Handles at most `max_messages` messages of the connection, and its end.
void ClientConnections::drain(ClientId id, std::size_t max_messages) {
  ReceivedMessage message;
  for (std::size_t i = 0; i < max_messages; ++i) {
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    Client& client = found->second;
    if (!client.trouble().empty()) {
      troubled_.insert(id);
      return;
    }
    try {
      const auto outcome = client.socket->socket().try_receive(message);
      if (outcome == PacketSocket::Outcome::would_block) return;
      if (outcome == PacketSocket::Outcome::closed) return end(id, {});
      handler_.handle(client, message);
    } catch (const std::exception& error) {
      return end(id, error.what());
    }
  }
}

void ClientConnections::end(ClientId id, const std::string& trouble, ClientHandler::EndKind kind) {
  handler_.take_mail();  // while the sender is known
  const auto ended = clients_.extract(id);
  if (ended.empty()) return;
  Client& client = ended.mapped();
  if (readable_) readable_->remove(client.socket->socket().descriptor(), id);
  if (!trouble.empty()) base_.log.event("the connection of " + client.name() + " is closed: " + trouble);
  if (client.process == nullptr) return;
  tell_ended_reads(client);  // the process had read before it ended
  const matcher::ProcessId process = client.process->id;
  if (processes_.disconnect(*client.process)) base_.store.end_logs(process);
  handler_.ended(id, process, kind);
}

void ClientConnections::end_troubled() {
  while (!troubled_.empty()) {
    const ClientId id = *troubled_.begin();
    troubled_.erase(troubled_.begin());
    const auto found = clients_.find(id);
    if (found != clients_.end()) end(id, std::string(found->second.trouble()));
  }
}

void ClientConnections::look_for_messages() {
  if (!readable_) {
    readable_ = std::make_unique<ReadableSockets>();
    for (const auto& [id, client] : clients_) readable_->add(client.socket->socket().descriptor(), id);
  }
  waiting_.clear();
  for (const ClientId id : readable_->ready()) waiting_.push_back({id, 0});
  for (Waiting& one : waiting_) one.time = next_time(one.client);
  std::erase_if(waiting_, [](const Waiting& one) { return one.time == 0; });
}

/// When the first message in the socket was sent; 0: there is none.
std::uint64_t ClientConnections::next_time(ClientId id) const {
  const auto found = clients_.find(id);
  const bool is_whole = found != clients_.end() && found->second.trouble().empty();
  return is_whole ? found->second.socket->socket().next_time() : 0;
}

/// What is handled here may take messages from the sockets, too, and look again.
bool ClientConnections::handle_earlier(std::uint64_t time) {
  for (;;) {
    const auto first = std::ranges::min_element(waiting_, {}, &Waiting::time);
    if (first == waiting_.end() || first->time >= time) return false;
    const Waiting known = *first;
    first->time = next_time(known.client);
    const bool is_as_known = first->time == known.time;
    if (first->time == 0) waiting_.erase(first);
    if (!is_as_known) continue;
    try {
      Client& client = clients_.at(known.client);
      ReceivedMessage message;
      if (client.socket->socket().try_receive(message) == PacketSocket::Outcome::received)
        handler_.handle(client, message);
    } catch (const std::exception& error) {
      hang_up(known.client, error.what());
    }
    return true;
  }
}

std::vector<ClientId> ClientConnections::ids() const {
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  return ids;
}

std::string Client::name() const {
  return process != nullptr ? process->component + " (connection " + std::to_string(id) + ")"
                            : "connection " + std::to_string(id);
}

Client* ClientConnections::find_of(matcher::ProcessId process) {
  const auto found = std::ranges::find_if(clients_, [&](const auto& entry) {
    return entry.second.process != nullptr && entry.second.process->id == process;
  });
  return found == clients_.end() ? nullptr : &found->second;
}

Client* ClientConnections::find(ClientId id) {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : &found->second;
}

void ClientConnections::take_sent(std::span<const std::uint32_t> processes) {
  take_sent_if([&](const LocalProcess& process) {
    return std::ranges::find(processes, process.process_id) != processes.end();
  });
}

/// First handles what the processes sent before they ended: a file that was published just before the exit
/// counts. The registry ends the processes itself.
void ClientConnections::drain_component(const std::string& component) {
  take_sent_by(component);
  for (const ClientId id : ids()) {
    const Client* const client = find(id);
    if (client != nullptr && client->process != nullptr && client->process->component == component)
      end(id, {}, ClientHandler::EndKind::untold);
  }
}

void ClientConnections::take_sent_by(const std::string& component) {
  take_sent_if(
      [&](const LocalProcess& process) { return component.empty() || process.component == component; });
}

/// Who has not said hello may be any process.
void ClientConnections::take_sent_if(const std::function<bool(const LocalProcess&)>& is_concerned) {
  handler_.take_mail();
  try {
    accept_clients();
  } catch (const Error& error) {
    base_.log.event(std::string("a connection cannot be accepted now: ") + error.what());
  }
  for (const ClientId id : ids()) {
    const Client* const client = find(id);
    if (client == nullptr || client->is_neighbour) continue;
    if (client->process == nullptr || is_concerned(*client->process)) drain(id, all_messages);
  }
}

void ClientConnections::connect_process(Client& client, const Hello& hello) {
  client.process = &processes_.connect(hello.component, hello.process_token, hello.process_id);
}

void ClientConnections::forget_announced(const LocalProcess& process, matcher::StepId step) {
  for (auto& [id, client] : clients_) {
    if (client.process == &process) client.told.erase(step);
  }
}

void ClientConnections::hang_up(ClientId id, std::string reason) {
  Client* const client = find(id);
  if (client == nullptr) return;
  client->end_reason = std::move(reason);
  troubled_.insert(id);
}

// Sending

void ClientConnections::send(Client& client, MessageType type, std::uint32_t tag,
                             std::vector<std::byte> fields, std::vector<SharedFile> files) {
  announce_drops(client);
  const bool is_sent = client.socket->send(type, tag, std::move(fields), std::move(files));
  if (!is_sent || type == MessageType::error) {
    note_failure(client, tag);
  } else if (type == MessageType::opened) {
    client.opening = {};
  }
  if (!client.image_reads.empty()) end_image_read(client, tag);
  if (!client.socket->trouble().empty()) troubled_.insert(client.id);
}

void ClientConnections::send_error(Client& client, std::uint32_t tag, int status, const std::string& text) {
  send(client, MessageType::error, tag, encode(ErrorReply{status, text}));
}

/// The process has not heard what the answer would have told: where data is, and that it has a step open.
void ClientConnections::note_failure(Client& client, std::uint32_t tag) {
  client.told.clear();
  if (client.opening.tag != tag || client.opening.step == 0) return;
  const matcher::StepId step = std::exchange(client.opening.step, 0);
  client.process->note_close(step);
  Close end{Discard{step, StepEnd::aborted, "a process has not got the answer to its create or open"}};
  if (client.opening.purpose == Purpose::read) end = {ReadEnd{step, {}}};
  // Later: the registry may be in the middle of something.
  boost::asio::post(base_.loop, [this, id = client.id, end = std::move(end)] {
    base_.tree.send_up(ClientRequest{id, 0, end});
  });
}

/// Whatever the answer was: the process needs no more than the image, unless it wants to keep the step. One
/// that only looks cannot keep a step from others, even if it is stopped.
void ClientConnections::end_image_read(Client& client, std::uint32_t tag) {
  const auto ended = client.image_reads.extract(tag);
  if (ended.empty() || ended.mapped().step == 0) return;
  Client::ImageRead& read = ended.mapped();
  if (read.is_counted && !client.process->counts_anew(read.step)) read.counters.opened_bytes = 0;
  const bool is_kept = read.is_kept && read.has_image && client.socket->trouble().empty();
  if (is_kept && client.process->kept_steps.emplace(read.step, read.counters).second) return;
  client.process->note_close(read.step);
  client.ended_reads.push_back({read.step, read.is_counted ? read.counters : matcher::AccessCounters{}});
  // Later: the registry may be in the middle of something.
  boost::asio::post(base_.loop, [this, id = client.id] {
    if (Client* const reader = find(id)) tell_ended_reads(*reader);
  });
}

void ClientConnections::tell_ended_reads(Client& client) {
  for (const ReadEnd& close : std::exchange(client.ended_reads, {}))
    base_.tree.send_up(ClientRequest{client.id, 0, Close{close}});
}

void ClientConnections::send_image(Client& client, std::uint32_t tag, ImageMade made, SharedFile file) {
  if (const auto read = client.image_reads.find(tag); read != client.image_reads.end()) {
    if (read->second.then) return std::exchange(read->second.then, {})(file);
    made.step = read->second.step;
    made.grows = read->second.grows;
    made.count = read->second.count;
    if (made.step != 0) read->second.counters.opens = 1;  // of an image, or of a file on disk
    if (file != nullptr) read->second.counters.opened_bytes = made.bytes;
    read->second.has_image = file != nullptr && made.step != 0;
  }
  std::vector<SharedFile> files;
  if (file != nullptr) files.push_back(for_reader(client.rights.get(), file));
  send(client, MessageType::image_made, tag, encode(made), std::move(files));
}

/// Called before an answer only. A client that is busy elsewhere does not read, and need not know earlier.
void ClientConnections::announce_drops(Client& client) {
  collect_destroyed_segments();
  if (client.dropped_segments.empty()) return;
  // In parts that need no descriptor.
  constexpr std::size_t most_at_once = 4096;
  const auto dropped = std::exchange(client.dropped_segments, {});
  for (std::size_t at = 0; at < dropped.size(); at += most_at_once) {
    const auto part = std::span(dropped).subspan(at, std::min(most_at_once, dropped.size() - at));
    client.socket->send(MessageType::drop_segments, 0, encode(DropSegments{{part.begin(), part.end()}}));
  }
}

void ClientConnections::collect_destroyed_segments() {
  for (const matcher::SegmentId segment : base_.store.take_destroyed()) {
    for (auto& [id, client] : clients_) {
      if (client.known_segments.erase(segment) != 0) client.dropped_segments.push_back(segment);
    }
  }
}

// Processes

bool LocalProcess::counts_anew(matcher::StepId step) {
  constexpr std::size_t most_remembered = 4096;
  const bool is_new = counted_steps.insert(step).second;
  if (counted_steps.size() > most_remembered) counted_steps.erase(counted_steps.begin());
  return is_new;
}

void LocalProcess::note_close(matcher::StepId step) {
  const auto found = open_steps.find(step);
  if (found != open_steps.end() && --found->second == 0) open_steps.erase(found);
}

LocalProcess& LocalProcesses::connect(const std::string& component, std::uint64_t token,
                                      std::uint32_t process_id) {
  const auto [entry, is_new] = processes_.try_emplace({component, token, process_id});
  LocalProcess& process = entry->second;
  if (is_new) process = {matcher::ProcessId{next_id_++}, component, token, process_id, 0, {}};
  ++process.connections;
  return process;
}

bool LocalProcesses::disconnect(LocalProcess& process) {
  if (--process.connections > 0) return false;
  const auto found = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const auto& entry) { return &entry.second == &process; });
  if (found != processes_.end()) processes_.erase(found);
  return true;
}

}  // namespace sluice::runtime
