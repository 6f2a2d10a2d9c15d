#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <string>

#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::coordinator {

/// The coordinator's connection to the matcher. Never waits: what cannot be sent at once is queued.
class MatcherLine {
 public:
  struct Callbacks {
    std::function<void()> on_ready;
    std::function<void(runtime::StatusReport)> on_status;
    std::function<void(const runtime::EventNotice&)> on_event;
    std::function<void(const std::string& reason)>
        on_lost;  ///< closed by the other end, or damaged; told once
  };
  MatcherLine(boost::asio::io_context& context, runtime::PacketSocket socket, Callbacks callbacks);
  ~MatcherLine();
  MatcherLine(const MatcherLine&) = delete;
  MatcherLine& operator=(const MatcherLine&) = delete;

  void send_hello(const runtime::CoordinatorHello& hello);
  void tell_exit(const runtime::ComponentExited& exit);
  void query_status();
  void shut_down();
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }

 private:
  void send(runtime::MessageType type, std::vector<std::byte> fields);
  void flush();
  void wait_readable();
  void receive_all();
  void dispatch(const runtime::ReceivedMessage& message);
  void lose(const std::string& reason);

  runtime::PacketSocket socket_;
  boost::asio::posix::stream_descriptor watched_;  ///< the same descriptor, for waiting on
  Callbacks callbacks_;
  std::deque<runtime::OutgoingMessage> queue_;
  bool waits_writable_ = false;
  bool lost_ = false;
};

}  // namespace sluice::coordinator
