#pragma once
// A whole matcher server in a thread of the test, without MPI, so that sanitizers and debuggers see it. The
// test is its coordinator.
#include <doctest/doctest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/matcher_server.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime::test {

class ServerInProcess {
 public:
  explicit ServerInProcess(const CoordinatorHello& hello) : ServerInProcess(connected_pair()) {
    (void)ask(MessageType::coordinator_hello, encode(hello), MessageType::ready);
  }
  ~ServerInProcess() {
    line_.reset();
    if (thread_.joinable()) thread_.join();
  }
  ServerInProcess(const ServerInProcess&) = delete;
  ServerInProcess& operator=(const ServerInProcess&) = delete;

  /// Sends to the server, and notes events until the answer is there.
  ReceivedMessage ask(MessageType type, std::vector<std::byte> fields, MessageType expected) {
    line_->send({type, ++tag_, std::move(fields)});
    for (;;) {
      auto message = line_->receive();
      if (!message) throw Error(NC_EIO, "the server has ended");
      if (message->type == MessageType::event) events.push_back(decode<EventNotice>(message->fields).text);
      if (message->type == expected) return std::move(*message);
    }
  }
  /// Returns when all that the component has left has been handled.
  void end_component(const std::string& name) {
    (void)ask(MessageType::component_exited, encode(ComponentExited{name, "exited with status 0", false}),
              MessageType::component_settled);
  }
  RunView view() {
    return decode<RunView>(
        ask(MessageType::watch_query, encode(WatchRequest{false, 0, true}), MessageType::run_view).fields);
  }
  StatusReport shut_down() {
    auto report = decode<StatusReport>(ask(MessageType::shutdown, {}, MessageType::status).fields);
    line_.reset();
    thread_.join();
    return report;
  }

  std::unique_ptr<Session> session(const std::string& component) const {
    return std::make_unique<Session>(ClientEnvironment{path_, component, {}});
  }
  PacketSocket connection() const { return connect_to(path_); }

  std::vector<std::string> events;

 private:
  explicit ServerInProcess(SocketPair line) : line_(std::move(line.first)) {
    static int count = 0;
    path_ = "/tmp/sluice-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    MatcherServerOptions options;
    options.socket_path = path_;
    options.coordinator = std::move(line.second);
    thread_ = std::thread([options = std::move(options)]() mutable {
      MatcherServer server(std::move(options));
      server.run();
    });
  }

  std::string path_;
  std::optional<PacketSocket> line_;
  std::thread thread_;
  std::uint32_t tag_ = 0;
};

}  // namespace sluice::runtime::test
