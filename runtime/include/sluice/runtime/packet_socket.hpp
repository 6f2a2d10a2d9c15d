#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/runtime/descriptor_reserve.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// A message as it was received: the packet's header, its fields undecoded (wire.hpp), and the descriptors
/// that came with it.
struct ReceivedMessage {
  MessageType type{};
  std::uint32_t tag = 0;
  std::vector<std::byte> fields;
  std::vector<FileDescriptor> descriptors;
};

/// A message ready to be sent, once or in several attempts. Owns its bytes and duplicates of its descriptors,
/// so that it can wait in a queue.
class OutgoingMessage {
 public:
  /// Fields of more than `inline_limit` bytes go into a memory file. `descriptors` are borrowed for the call.
  /// Throws IoError, and Error(NC_EMAX_REQ) for fields of more than 1 GiB.
  OutgoingMessage(MessageType type, std::uint32_t tag, std::vector<std::byte> fields,
                  std::span<const int> descriptors = {});

  static constexpr std::size_t inline_limit = 64U << 10;

 private:
  friend class PacketSocket;
  std::vector<std::byte> packet_;
  std::vector<FileDescriptor> descriptors_;
};

/// One end of a connection: AF_UNIX, SOCK_SEQPACKET, close-on-exec, one packet a message. Sending and
/// receiving may happen in two threads at a time, but each of them in one thread only. Never raises SIGPIPE;
/// interrupted calls are resumed. All functions throw Error(NC_EIO) for a lost or damaged connection; after
/// that only the destructor is of use.
class PacketSocket {
 public:
  explicit PacketSocket(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

  /// Waits for room in the peer's queue.
  void send(const OutgoingMessage& message) const;
  /// Waits for a message, `awake` for so long; nothing when the peer has closed the connection. A message
  /// that brings descriptors is left where it is until `reserve`, if there is one, has one for it.
  [[nodiscard]] std::optional<ReceivedMessage> receive(
      std::chrono::microseconds awake = std::chrono::microseconds(0),
      DescriptorReserve* reserve = nullptr) const;

  /// Do not wait, whether the descriptor is in blocking mode or not (for an event loop, which waits on
  /// descriptor()).
  [[nodiscard]] bool try_send(const OutgoingMessage& message) const;  ///< false: no room now
  enum class Outcome { received, would_block, closed };
  [[nodiscard]] Outcome try_receive(ReceivedMessage& message) const;

  /// Whether the peer has not closed its end yet, as far as is known without waiting.
  [[nodiscard]] bool is_alive() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }

 private:
  [[nodiscard]] bool is_next_with_descriptors() const noexcept;
  void make_way(DescriptorReserve& reserve) const;

  FileDescriptor socket_;
};

/// A socket that accepts connections at `path` (at most 107 bytes), mode 0600. A file that is there already
/// is an error. Throws IoError.
[[nodiscard]] FileDescriptor listen_at(const std::string& path);

/// Takes a waiting connection; nothing when there is none. A process of another user is turned away:
/// Error(NC_EPERM). Throws IoError(NC_ENFILE) when descriptors are used up.
[[nodiscard]] std::optional<PacketSocket> accept_connection(const FileDescriptor& listener);

/// Connects, waiting for the listener if it is busy; checks that it belongs to the same user. Throws
/// IoError(NC_EIO), Error(NC_EPERM).
[[nodiscard]] PacketSocket connect_to(const std::string& path);

/// Two connected ends, for tests and for a child process.
struct SocketPair {
  PacketSocket first, second;
};
[[nodiscard]] SocketPair connected_pair();

}  // namespace sluice::runtime
