#include "sluice/runtime/matcher_rank.hpp"

#include <unistd.h>

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

std::uint64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace

MatcherRank::MatcherRank(MatcherRankOptions options)
    : server_(std::make_unique<Server>(std::move(options))) {}
MatcherRank::~MatcherRank() = default;
void MatcherRank::run() {
  server_->run();
}

MatcherRank::Server::Server(MatcherRankOptions options)
    : socket_path_(std::move(options.socket_path)),
      listener_(listen_at(socket_path_)),
      listener_watch_(loop_, listener_.number()),
      accept_pause_(loop_),
      coordinator_(loop_, std::move(options.coordinator), [this] { on_coordinator(); }) {}

MatcherRank::Server::~Server() {
  listener_watch_.release();
  ::unlink(socket_path_.c_str());
}

void MatcherRank::Server::run() {
  coordinator_.read_on();
  watch_listener();
  loop_.run();
}

// Connections

void MatcherRank::Server::watch_listener() {
  listener_watch_.async_wait(stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    try {
      accept_clients();
      watch_listener();
    } catch (const Error& failure) {  // no descriptors left; who waits in the queue may still be served later
      event(std::string("a connection cannot be accepted now: ") + failure.what());
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
    if (!client.socket->trouble().empty()) {
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

void MatcherRank::Server::end_client(ClientId id, const std::string& trouble) {
  const auto ended = clients_.extract(id);
  if (ended.empty()) return;
  const Client& client = ended.mapped();
  if (!trouble.empty()) event("the connection of " + client.name() + " is closed: " + trouble);
  if (!client.process) return;
  used_logs_.forget(*client.process);
  if (registry_) registry_->disconnect(*client.process);
}

void MatcherRank::Server::end_troubled_clients() {
  while (!troubled_.empty()) {
    const ClientId id = *troubled_.begin();
    troubled_.erase(troubled_.begin());
    const auto found = clients_.find(id);
    if (found != clients_.end()) end_client(id, std::string(found->second.socket->trouble()));
  }
}

std::vector<MatcherRank::Server::ClientId> MatcherRank::Server::client_ids() const {
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  return ids;
}

std::string MatcherRank::Server::Client::name() const {
  return process ? component + " (connection " + std::to_string(id) + ")"
                 : "connection " + std::to_string(id);
}

// The coordinator

void MatcherRank::Server::on_coordinator() {
  ReceivedMessage message;
  try {
    for (;;) {
      const auto outcome = coordinator_.socket().try_receive(message);
      if (outcome == PacketSocket::Outcome::would_block) break;
      if (outcome == PacketSocket::Outcome::closed) return loop_.stop();
      handle_coordinator(message);
      if (loop_.stopped()) return;
    }
  } catch (const Error&) {  // there is nobody left to tell
    return loop_.stop();
  }
  end_troubled_clients();
  coordinator_.read_on();
}

void MatcherRank::Server::handle_coordinator(const ReceivedMessage& message) {
  const auto status = [&] {
    coordinator_.send(MessageType::status, message.tag,
                      encode(registry_ ? registry_->status() : StatusReport{}));
  };
  switch (message.type) {
    case MessageType::coordinator_hello:
      return start_registry(message);
    case MessageType::component_exited:
      return exit_component(decode<ComponentExited>(message.fields));
    case MessageType::status_query:
      return status();
    case MessageType::shutdown:
      status();
      coordinator_.flush();
      return loop_.stop();
    default:
      throw Error(NC_EIO,
                  "the coordinator sent a message of type " + std::string(message_name(message.type)));
  }
}

void MatcherRank::Server::start_registry(const ReceivedMessage& message) {
  auto hello = decode<CoordinatorHello>(message.fields);
  if (hello.protocol != protocol_version || registry_) {
    const std::string text = registry_ ? "the coordinator says hello twice"
                                       : "the coordinator speaks protocol " + std::to_string(hello.protocol) +
                                             ", the matcher protocol " + std::to_string(protocol_version) +
                                             ": they are of different builds of Sluice";
    coordinator_.send(MessageType::error, message.tag, encode(ErrorReply{NC_EIO, text}));
    return;
  }
  matcher::RegistryOptions options{std::move(hello.rules), std::move(hello.components), hello.memory_bytes,
                                   now_ms, hello.retain_bytes};
  registry_.emplace(std::move(options), store_, static_cast<matcher::RegistryAnswers&>(*this));
  coordinator_.send(MessageType::ready, message.tag, {});
}

/// What the component's processes sent before they ended comes first: a file that was published just before
/// the exit is there.
void MatcherRank::Server::exit_component(const ComponentExited& exit) {
  if (!registry_) return;
  constexpr std::size_t all_messages = 1U << 20;
  try {
    accept_clients();
  } catch (const Error& error) {
    event(std::string("a connection cannot be accepted now: ") + error.what());
  }
  const auto is_concerned = [&](ClientId id) {
    const auto found = clients_.find(id);
    return found != clients_.end() && (!found->second.process || found->second.component == exit.component);
  };
  for (const ClientId id : client_ids()) {
    if (is_concerned(id)) drain(id, all_messages);
  }
  registry_->component_exited(exit.component, exit.reason);
  for (const ClientId id : client_ids()) {
    if (is_concerned(id) && clients_.at(id).process) end_client(id, {});
  }
}

void MatcherRank::Server::event(const std::string& text) {
  coordinator_.send(MessageType::event, 0, encode(EventNotice{text}));
}

}  // namespace sluice::runtime
