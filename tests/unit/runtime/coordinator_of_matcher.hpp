#pragma once
// The test as the coordinator of a matcher.
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime::test {

class CoordinatorOfMatcher {
 public:
  CoordinatorOfMatcher(const CoordinatorOfMatcher&) = delete;
  CoordinatorOfMatcher& operator=(const CoordinatorOfMatcher&) = delete;

  /// Sends to the matcher, and handles events until the answer arrives.
  ReceivedMessage ask(MessageType type, std::vector<std::byte> fields, MessageType expected) {
    line_->send({type, ++tag_, std::move(fields)});
    for (;;) {
      auto message = line_->receive();
      if (!message) throw Error(NC_EIO, "the matcher has ended");
      if (message->type == expected) return std::move(*message);
      if (message->type == MessageType::component_settled) continue;
      if (message->type != MessageType::event) throw Error(NC_EIO, "an answer of another type");
      events.push_back(decode<EventNotice>(message->fields).text);
    }
  }
  /// What the run does, as the coordinator asks for its progress.
  RunView view() {
    return decode<RunView>(
        ask(MessageType::watch, encode(WatchRequest{false, 0, true}), MessageType::run_view).fields);
  }
  std::unique_ptr<Session> session(const std::string& component) const {
    return std::make_unique<Session>(ClientEnvironment{path, component, {}});
  }

  std::string path;  ///< of the matcher's socket
  std::vector<std::string> events;

 protected:
  explicit CoordinatorOfMatcher(PacketSocket line) : line_(std::move(line)) {
    static int count = 0;
    path = "/tmp/sluice-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  }
  ~CoordinatorOfMatcher() = default;

  std::optional<PacketSocket> line_;

 private:
  std::uint32_t tag_ = 0;
};

}  // namespace sluice::runtime::test
