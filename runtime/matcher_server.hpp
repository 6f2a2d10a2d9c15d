#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "get_answer.hpp"
#include "known_steps.hpp"
#include "segment_store.hpp"
#include "sluice/matcher/registry.hpp"
#include "sluice/runtime/matcher_rank.hpp"
#include "used_logs.hpp"
#include "watched_socket.hpp"

namespace sluice::runtime {

/// What is behind MatcherRank: connections, and the way between messages and the registry.
/// matcher_rank.cpp: the loop, connections, the coordinator; client_requests.cpp: what clients ask.
class MatcherRank::Server final : private matcher::RegistryAnswers {
 public:
  explicit Server(MatcherRankOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  void run();

 private:
  using ClientId = std::uint64_t;

  /// A connection of a client process.
  struct Client {
    ClientId id = 0;
    std::unique_ptr<WatchedSocket> socket;
    std::optional<matcher::ProcessId> process;  ///< after hello
    std::string component;
    std::unordered_set<matcher::SegmentId> known_segments;  ///< whose descriptors went over this connection
    std::vector<matcher::SegmentId> dropped_segments;  ///< of those, the ones it has not been told to drop
    std::unordered_map<matcher::StepId, ToldRanges> told;

    [[nodiscard]] std::string name() const;
  };

  // matcher_rank.cpp
  void watch_listener();
  void accept_clients();
  void add_client(PacketSocket socket);
  void on_client(ClientId id);
  void drain(ClientId id, std::size_t max_messages);
  void end_client(ClientId id, const std::string& trouble);
  void end_troubled_clients();
  void on_coordinator();
  void handle_coordinator(const ReceivedMessage& message);
  void start_registry(const ReceivedMessage& message);
  void exit_component(const ComponentExited& exit);
  [[nodiscard]] std::vector<ClientId> client_ids() const;

  // client_requests.cpp
  void handle_client(Client& client, const ReceivedMessage& message);
  void greet(Client& client, const ReceivedMessage& message);
  void dispatch(Client& client, const ReceivedMessage& message);
  void close_step(const Client& client, matcher::StepId step);
  void answer_get_of(Client& client, std::uint32_t tag, const Get& request);
  void send(Client& client, MessageType type, std::uint32_t tag, std::vector<std::byte> fields);
  void send_error(Client& client, std::uint32_t tag, int status, const std::string& text);
  void send_segment(Client& client, std::uint32_t tag, matcher::SegmentId segment);
  void introduce_segment(Client& client, matcher::SegmentId segment);
  void announce_drops(Client& client);
  void collect_destroyed_segments();
  [[nodiscard]] Client* find(const matcher::Ticket& ticket);

  void created(const matcher::Ticket& ticket, const matcher::Step& step) override;
  void opened(const matcher::Ticket& ticket, const matcher::Step& step) override;
  void granted(const matcher::Ticket& ticket, const matcher::SegmentLease& segment) override;
  void done(const matcher::Ticket& ticket) override;
  void refused(const matcher::Ticket& ticket, int status, const std::string& text) override;
  void erased(matcher::StepId step) override { known_steps_.forget(step); }
  void event(const std::string& text) override;

  boost::asio::io_context loop_{1};
  std::string socket_path_;
  FileDescriptor listener_;
  boost::asio::posix::stream_descriptor listener_watch_;
  boost::asio::steady_timer accept_pause_;
  WatchedSocket coordinator_;
  SegmentStore store_;
  KnownSteps known_steps_;  ///< before the registry, which tells at its end what it erases
  UsedLogs used_logs_;
  std::optional<matcher::Registry> registry_;  ///< after coordinator_hello
  std::map<ClientId, Client> clients_;
  std::set<ClientId> troubled_;
  ClientId next_client_ = 1;
};

}  // namespace sluice::runtime
