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

/// A packet socket in an event loop. Messages that cannot be sent at once wait in a bounded queue, so a slow
/// peer never blocks the loop.
class WatchedSocket {
 public:
  /// `on_readable` is called when there may be something to receive, or the peer has closed the connection.
  /// It is not called again before read_on().
  WatchedSocket(boost::asio::io_context& loop, PacketSocket socket, std::function<void()> on_readable);
  ~WatchedSocket();
  WatchedSocket(const WatchedSocket&) = delete;
  WatchedSocket& operator=(const WatchedSocket&) = delete;

  /// Calls on_readable when the socket is next readable.
  void read_on();
  /// Sends at once, or later and in order. trouble() reports errors. An answer that does not fit into a
  /// packet needs a descriptor; when none is left, the answer is an error instead. Returns whether it is not.
  bool send(MessageType type, std::uint32_t tag, std::vector<std::byte> fields,
            std::vector<SharedFile> files = {});
  /// The peer has not read what fills the socket.
  [[nodiscard]] bool has_queue() const noexcept { return !queue_.empty(); }
  /// Sends the queue, and waits for the peer.
  void flush();

  [[nodiscard]] const PacketSocket& socket() const noexcept { return socket_; }
  /// The reason why this connection is no longer usable; empty while it is usable.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

  static constexpr std::size_t max_queued_messages = 16384;
  static constexpr std::size_t max_queued_bytes = 64U << 20;  ///< large messages have their fields in files

 private:
  void send_message(OutgoingMessage message, std::size_t bytes);
  struct Queued {
    OutgoingMessage message;
    std::size_t bytes = 0;
  };
  void wait_until_writable();
  void send_queued();

  PacketSocket socket_;
  boost::asio::posix::stream_descriptor watch_;
  std::function<void()> on_readable_;
  std::deque<Queued> queue_;
  std::size_t queued_bytes_ = 0;
  std::string trouble_;
  bool has_no_receiver_ = false;  ///< the other side has closed the connection
  std::shared_ptr<bool> is_alive_ =
      std::make_shared<bool>(true);  // shared with handlers that may run after the destructor
};

}  // namespace sluice::runtime
