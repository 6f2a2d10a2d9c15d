// Connections of client processes.
#include <fcntl.h>
#include <poll.h>

#include <chrono>
#include <utility>

#include "matcher_server.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

using boost::asio::posix::stream_descriptor;

namespace {
/// Messages of one connection in a row; then others have their turn.
constexpr std::size_t turn_messages = 32;
constexpr std::size_t all_messages = 1U << 20;
}  // namespace

void MatcherRank::Server::watch_listener() {
  listener_watch_.async_wait(stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    try {
      accept_clients();
      watch_listener();
    } catch (const Error& failure) {  // no descriptors left; who comes later may still be served
      event(std::string("a connection cannot be accepted now: ") + failure.what());
      turn_away();
      accept_pause_.expires_after(std::chrono::milliseconds(100));
      accept_pause_.async_wait([this](const boost::system::error_code&) { watch_listener(); });
    }
  });
}

void MatcherRank::Server::accept_clients() {
  for (;;) {
    try {
      auto socket = accept_connection(listener_);
      if (!socket) return;
      add_client(std::move(*socket));
    } catch (const Error& error) {
      if (error.status() != NC_EPERM) throw;
      event(std::string("a connection was turned away: ") + error.what());
    }
  }
}

/// There is no descriptor left for the connection that comes next: its process is told so.
void MatcherRank::Server::turn_away() {
  spare_.reset();
  try {
    if (const auto socket = accept_connection(listener_)) {
      // It says hello as soon as it is connected; the answer would be lost if that were left unread.
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
    // It has gone, or is another user's.
  }
  spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void MatcherRank::Server::add_client(PacketSocket socket) {
  const ClientId id = next_client_++;
  Client& client = clients_[id];
  client.id = id;
  client.socket = std::make_unique<WatchedSocket>(loop_, std::move(socket), [this, id] { on_client(id); });
  client.socket->read_on();
}

void MatcherRank::Server::on_client(ClientId id) {
  drain(id, turn_messages);
  end_troubled_clients();
  if (const auto found = clients_.find(id); found != clients_.end()) found->second.socket->read_on();
}

/// Handles what the connection has sent, at most so many messages; ends it when that is the end.
void MatcherRank::Server::drain(ClientId id, std::size_t max_messages) {
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
      if (outcome == PacketSocket::Outcome::closed) return end_client(id, {});
      handle_client(client, message);
    } catch (const Error& error) {
      return end_client(id, error.what());
    }
  }
}

void MatcherRank::Server::end_client(ClientId id, const std::string& trouble, EndKind kind) {
  const auto ended = clients_.extract(id);
  if (ended.empty()) return;
  const Client& client = ended.mapped();
  if (!trouble.empty()) event("the connection of " + client.name() + " is closed: " + trouble);
  if (client.process == nullptr) return;
  used_logs_.forget(client.process->id);
  landing_patterns_.forget(client.process->id);
  processes_.disconnect(*client.process);
  if (kind == EndKind::untold) return;
  RelayItem item;
  item.kind = RelayItemKind::connection_ended;
  item.connection = id;
  tree_.send_up(std::move(item));
}

void MatcherRank::Server::end_troubled_clients() {
  while (!troubled_.empty()) {
    const ClientId id = *troubled_.begin();
    troubled_.erase(troubled_.begin());
    const auto found = clients_.find(id);
    if (found != clients_.end()) end_client(id, std::string(found->second.trouble()));
  }
}

std::vector<MatcherRank::Server::ClientId> MatcherRank::Server::client_ids() const {
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  return ids;
}

std::string MatcherRank::Server::Client::name() const {
  return process != nullptr ? process->component + " (connection " + std::to_string(id) + ")"
                            : "connection " + std::to_string(id);
}

MatcherRank::Server::Client* MatcherRank::Server::find(ClientId id) {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : &found->second;
}

/// What the component's processes sent before they ended comes first: a file that was published just before
/// the exit is there. The registry ends the processes itself.
void MatcherRank::Server::drain_component(const std::string& component) {
  try {
    accept_clients();
  } catch (const Error& error) {
    event(std::string("a connection cannot be accepted now: ") + error.what());
  }
  const auto is_concerned = [&](ClientId id) {
    const Client* const client = find(id);
    return client != nullptr && (client->process == nullptr || client->process->component == component);
  };
  for (const ClientId id : client_ids()) {
    if (is_concerned(id)) drain(id, all_messages);
  }
  for (const ClientId id : client_ids()) {
    if (is_concerned(id) && find(id)->process != nullptr) end_client(id, {}, EndKind::untold);
  }
}

}  // namespace sluice::runtime
