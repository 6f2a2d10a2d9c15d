#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/runtime/descriptor_reserve.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// A received message: the packet's header, its fields undecoded (wire.hpp), and the attached descriptors.
struct ReceivedMessage {
  MessageType type{};
  std::uint32_t tag = 0;
  std::vector<std::byte> fields;
  std::vector<FileDescriptor> descriptors;
  std::uint64_t time = 0;  ///< send_time(); 0: it does not tell
};

/// A file whose descriptor is sent; shared by those who send it and those who map it.
using SharedFile = std::shared_ptr<const FileDescriptor>;

/// A message ready to be sent, in one or several attempts. Owns its bytes and a share of its descriptors,
/// so that it can wait in a queue.
class OutgoingMessage {
 public:
  /// Fields of more than `inline_limit` bytes go into a memory file. Needs no other new descriptor.
  /// Throws IoError, and Error(NC_EMAX_REQ) for fields of more than 1 GiB.
  OutgoingMessage(MessageType type, std::uint32_t tag, std::vector<std::byte> fields,
                  std::vector<SharedFile> files = {});
  /// Duplicates the descriptors, which are borrowed for the call.
  OutgoingMessage(MessageType type, std::uint32_t tag, std::vector<std::byte> fields,
                  std::span<const int> descriptors);

  static constexpr std::size_t inline_limit = 64U << 10;

 private:
  friend class PacketSocket;
  std::vector<std::byte> packet_;
  std::vector<SharedFile> descriptors_;
};

/// One end of a connection: AF_UNIX, SOCK_SEQPACKET, close-on-exec, one packet per message. One thread may
/// send while another receives, but only one thread may do each. Never raises SIGPIPE; resumes interrupted
/// calls. All functions throw Error(NC_EIO) for a lost or damaged connection; after that only the destructor
/// may be called.
class PacketSocket {
 public:
  explicit PacketSocket(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

  /// Waits for space in the peer's queue. The message tells when it is sent, unless it is a hello: that is
  /// understood by other versions, too.
  void send(const OutgoingMessage& message) const;
  /// Waits for a message, and stays awake for `awake`. Returns nothing when the peer has closed the
  /// connection. When a message has descriptors, it stays in the socket until `reserve`, if given, has free
  /// descriptors.
  [[nodiscard]] std::optional<ReceivedMessage> receive(
      std::chrono::microseconds awake = std::chrono::microseconds(0),
      DescriptorReserve* reserve = nullptr) const;

  /// The following calls do not wait, in blocking mode or not. An event loop waits on descriptor() instead.
  [[nodiscard]] bool try_send(const OutgoingMessage& message) const;  ///< false: no space now
  enum class Outcome { received, would_block, closed };
  [[nodiscard]] Outcome try_receive(ReceivedMessage& message) const;
  /// When the next message was sent, which stays in the socket; 0: there is none, or it does not tell.
  [[nodiscard]] std::uint64_t next_time() const noexcept;

  /// Whether the peer still has its end open, as far as is known without waiting.
  [[nodiscard]] bool is_alive() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }

 private:
  [[nodiscard]] Outcome receive_one(ReceivedMessage& message, int flags) const;
  [[nodiscard]] bool try_send(const OutgoingMessage& message, bool tells_time) const;
  [[nodiscard]] bool is_next_with_descriptors() const noexcept;
  void make_way(DescriptorReserve& reserve) const;

  FileDescriptor socket_;
};

/// Makes a socket that accepts connections at `path` (at most 107 bytes), mode 0600. An existing file is an
/// error. Throws IoError.
[[nodiscard]] FileDescriptor listen_at(const std::string& path);

/// Accepts a waiting connection; returns nothing when there is none. Refuses a process of another user:
/// Error(NC_EPERM). Throws IoError(NC_ENFILE) when no descriptors are left.
[[nodiscard]] std::optional<PacketSocket> accept_connection(const FileDescriptor& listener);

/// Connects, and waits while the listener is busy. Checks that the listener belongs to the same user. Throws
/// IoError(NC_EIO), Error(NC_EPERM).
[[nodiscard]] PacketSocket connect_to(const std::string& path);

/// Two connected ends, for tests and for a child process.
struct SocketPair {
  PacketSocket first, second;
};
[[nodiscard]] SocketPair connected_pair();

}  // namespace sluice::runtime
