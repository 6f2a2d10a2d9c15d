#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "sluice/runtime/packet_socket.hpp"

namespace sluice::runtime {

/// A packet socket in an event loop: what cannot be sent at once waits in a queue with a bound, so that a
/// slow peer never holds up the loop.
class WatchedSocket {
 public:
  /// `on_readable` is called when there may be something to receive, or the peer has gone; it is not called
  /// again before read_on().
  WatchedSocket(boost::asio::io_context& loop, PacketSocket socket, std::function<void()> on_readable);
  ~WatchedSocket();
  WatchedSocket(const WatchedSocket&) = delete;
  WatchedSocket& operator=(const WatchedSocket&) = delete;

  /// Calls on_readable at the next occasion.
  void read_on();
  /// At once, or later and in order. Errors are kept for trouble().
  void send(MessageType type, std::uint32_t tag, std::vector<std::byte> fields,
            std::span<const int> descriptors = {});
  /// Sends what is queued, waiting for the peer.
  void flush();

  [[nodiscard]] const PacketSocket& socket() const noexcept { return socket_; }
  /// Why this connection is of no more use; empty as long as it is.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

  static constexpr std::size_t max_queued_messages = 16384;
  static constexpr std::size_t max_queued_bytes = 64U << 20;  ///< of those, the large ones are in files

 private:
  struct Queued {
    OutgoingMessage message;
    std::size_t bytes = 0;
  };
  void wait_for_room();
  void send_queued();

  PacketSocket socket_;
  boost::asio::posix::stream_descriptor watch_;
  std::function<void()> on_readable_;
  std::deque<Queued> queue_;
  std::size_t queued_bytes_ = 0;
  std::string trouble_;
  std::shared_ptr<bool> is_alive_ =
      std::make_shared<bool>(true);  // shared with handlers that may run after the end
};

}  // namespace sluice::runtime
