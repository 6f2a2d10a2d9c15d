#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <string>

#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::coordinator {

/// The coordinator's connection to the matcher. It never waits: a message that cannot be sent at once is
/// queued.
class MatcherLine {
 public:
  /// Receives the matcher's messages.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void matcher_ready() = 0;
    /// The final figures: the answer to shut_down().
    virtual void matcher_reported(const runtime::StatusReport& report) = 0;
    /// After tell_exit() of a component that starts again.
    virtual void component_may_start(const std::string& name) = 0;
    virtual void matcher_told(const runtime::EventNotice& event) = 0;
    /// tell_job() answers it, when the job has ended.
    virtual void file_published(const runtime::FilePublished& file) = 0;
    /// After tell_exit(): all files that the component has published were told.
    virtual void component_settled(const std::string& name) = 0;
    /// The other end closed the connection, or damaged it. Reported once.
    virtual void matcher_line_lost(const std::string& reason) = 0;
  };
  /// `listener` outlives the line.
  MatcherLine(boost::asio::io_context& context, runtime::PacketSocket socket, Listener& listener);
  ~MatcherLine();
  MatcherLine(const MatcherLine&) = delete;
  MatcherLine& operator=(const MatcherLine&) = delete;

  void send_hello(const runtime::CoordinatorHello& hello);
  void tell_exit(const runtime::ComponentExited& exit);
  void tell_job(const runtime::JobNote& job);
  using ViewReceiver = std::function<void(runtime::RunView)>;
  /// Asks what the run does. `receiver` is called with the answer, unless the line is lost before.
  void watch(const runtime::WatchRequest& request, ViewReceiver receiver);
  void shut_down();
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }

 private:
  void send(runtime::MessageType type, std::vector<std::byte> fields);
  void flush();
  void wait_readable();
  void receive_all();
  void dispatch(const runtime::ReceivedMessage& message);
  void take_view(runtime::RunView view);
  void lose(const std::string& reason);

  runtime::PacketSocket socket_;
  boost::asio::posix::stream_descriptor watched_;  ///< the same descriptor, to wait for events
  Listener& listener_;
  std::deque<runtime::OutgoingMessage> queue_;
  std::deque<ViewReceiver> view_receivers_;  ///< of the questions that are not answered yet
  bool waits_writable_ = false;
  bool lost_ = false;
};

}  // namespace sluice::coordinator
