#include "watched_socket.hpp"

#include <cerrno>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

using boost::asio::posix::stream_descriptor;

WatchedSocket::WatchedSocket(boost::asio::io_context& loop, PacketSocket socket,
                             std::function<void()> on_readable)
    : socket_(std::move(socket)), watch_(loop, socket_.descriptor()), on_readable_(std::move(on_readable)) {}

WatchedSocket::~WatchedSocket() {
  *is_alive_ = false;
  watch_.release();  // the descriptor is the packet socket's
}

void WatchedSocket::read_on() {
  watch_.async_wait(stream_descriptor::wait_read,
                    [this, is_alive = is_alive_](const boost::system::error_code& error) {
                      if (*is_alive && !error) on_readable_();
                    });
}

namespace {

/// The other side has closed the connection. What it has sent before can still be read, and its end follows.
bool is_gone(const Error& error) noexcept {
  const auto* const io = dynamic_cast<const IoError*>(&error);
  return io != nullptr && (io->error_number() == EPIPE || io->error_number() == ECONNRESET);
}

}  // namespace

bool WatchedSocket::send(MessageType type, std::uint32_t tag, std::vector<std::byte> fields,
                         std::vector<SharedFile> files) {
  if (!trouble_.empty() || has_no_receiver_) return true;
  const std::size_t bytes = fields.size();
  try {
    send_message(OutgoingMessage(type, tag, std::move(fields), std::move(files)), bytes);
  } catch (const Error& error) {
    has_no_receiver_ = is_gone(error);
    if (has_no_receiver_) return true;
    if (error.status() != NC_ENFILE || tag == 0 || type == MessageType::error) {
      trouble_ = error.what();
      return true;
    }
    send(MessageType::error, tag,
         encode(ErrorReply{NC_ENFILE,
                           std::string("the matcher has no file descriptor left for a large answer: ") +
                               error.what() + ". Raise the hard limit (ulimit -Hn)"}));
    return false;
  }
  return true;
}

void WatchedSocket::send_message(OutgoingMessage message, std::size_t bytes) {
  if (queue_.empty() && socket_.try_send(message)) return;
  const bool is_too_much = queue_.size() >= max_queued_messages || queued_bytes_ + bytes > max_queued_bytes;
  if (is_too_much && !queue_.empty()) {
    trouble_ = "the process does not read its answers";
    return;
  }
  queue_.push_back({std::move(message), bytes});
  queued_bytes_ += bytes;
  if (queue_.size() == 1) wait_until_writable();
}

void WatchedSocket::wait_until_writable() {
  watch_.async_wait(stream_descriptor::wait_write,
                    [this, is_alive = is_alive_](const boost::system::error_code& error) {
                      if (*is_alive && !error) send_queued();
                    });
}

void WatchedSocket::send_queued() {
  try {
    while (!queue_.empty()) {
      if (!socket_.try_send(queue_.front().message)) return wait_until_writable();
      queued_bytes_ -= queue_.front().bytes;
      queue_.pop_front();
    }
  } catch (const Error& error) {
    has_no_receiver_ = is_gone(error);
    if (has_no_receiver_) {
      queue_.clear();
    } else {
      trouble_ = error.what();  // the reading side sees the end
    }
  }
}

void WatchedSocket::flush() {
  for (; !queue_.empty(); queue_.pop_front()) socket_.send(queue_.front().message);
}

}  // namespace sluice::runtime
