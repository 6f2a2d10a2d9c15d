#pragma once
// A whole matcher server in a thread of the test, without MPI, so that sanitizers and debuggers see it. The
// test is its coordinator.
#include <string>
#include <thread>
#include <utility>

#include "coordinator_of_matcher.hpp"
#include "sluice/runtime/matcher_server.hpp"

namespace sluice::runtime::test {

class ServerInProcess : public CoordinatorOfMatcher {
 public:
  explicit ServerInProcess(const CoordinatorHello& hello) : ServerInProcess(connected_pair()) {
    (void)ask(MessageType::coordinator_hello, encode(hello), MessageType::done);
  }
  ~ServerInProcess() {
    line_.reset();
    if (thread_.joinable()) thread_.join();
  }

  /// Returns when all that the component has left has been handled.
  void end_component(const std::string& name) {
    (void)ask(MessageType::component_exited, encode(ComponentExited{name, "exited with status 0", false}),
              MessageType::component_settled);
  }
  StatusReport shut_down() {
    auto report = decode<StatusReport>(ask(MessageType::shutdown, {}, MessageType::status).fields);
    line_.reset();
    thread_.join();
    return report;
  }

  PacketSocket connection() const { return connect_to(path); }

 private:
  explicit ServerInProcess(SocketPair line) : CoordinatorOfMatcher(std::move(line.first)) {
    MatcherServerOptions options;
    options.socket_path = path;
    options.coordinator = std::move(line.second);
    thread_ = std::thread([options = std::move(options)]() mutable {
      MatcherServer server(std::move(options));
      server.run();
    });
  }

  std::thread thread_;
};

}  // namespace sluice::runtime::test
