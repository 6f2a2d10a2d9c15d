#include "sluice/runtime/packet_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/send_time.hpp"

namespace sluice::runtime {

namespace {

constexpr std::uint16_t flag_in_file =
    1;  // the fields are in the first descriptor; the packet holds their length
constexpr std::uint16_t flag_has_time = 2;  // the time follows the header
constexpr std::size_t header_bytes = 8;     // u16 type, u16 flags, u32 tag
constexpr std::size_t time_bytes = 8;
constexpr std::size_t descriptor_limit = 16;  // of one packet
constexpr std::uint64_t fields_limit =
    1U << 30;  // no message is larger; limits the allocation for a damaged length
constexpr std::size_t packet_limit = header_bytes + time_bytes + OutgoingMessage::inline_limit;

[[noreturn]] void fail(const std::string& action, const std::string& object = "a connection") {
  const int error_number = errno;
  const bool is_used_up = error_number == EMFILE || error_number == ENFILE;
  throw IoError(is_used_up ? NC_ENFILE : NC_EIO, error_number, object, action);
}

[[noreturn]] void fail_damaged(const std::string& what) {
  throw Error(NC_EIO, "damaged packet: " + what);
}

FileDescriptor file_with(std::span<const std::byte> contents) {
  FileDescriptor file(::memfd_create("sluice-message", MFD_CLOEXEC));
  if (!file) fail("create a memory file for", "a large message");
  while (!contents.empty()) {
    const ssize_t written = ::write(file.number(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("write", "a large message");
    contents = contents.subspan(static_cast<std::size_t>(written));
  }
  return file;
}

std::vector<SharedFile> duplicates_of(std::span<const int> descriptors) {
  std::vector<SharedFile> files;
  for (const int descriptor : descriptors) {
    FileDescriptor duplicate(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (!duplicate) fail("duplicate a descriptor");
    files.push_back(std::make_shared<const FileDescriptor>(std::move(duplicate)));
  }
  return files;
}

/// Reads instead of mapping: when a peer shortens the file meanwhile, this is an error instead of a signal.
std::vector<std::byte> contents_of(const FileDescriptor& file, std::uint64_t length) {
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) fail("inspect", "a large message");
  if (!S_ISREG(facts.st_mode) || length > fields_limit ||
      static_cast<std::uint64_t>(facts.st_size) != length) {
    fail_damaged("a large message of " + std::to_string(length) + " bytes in a file of " +
                 std::to_string(facts.st_size));
  }
  std::vector<std::byte> contents(static_cast<std::size_t>(length));
  std::size_t position = 0;
  while (position < contents.size()) {
    const ssize_t got = ::pread(file.number(), contents.data() + position, contents.size() - position,
                                static_cast<off_t>(position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", "a large message");
    if (got == 0) fail_damaged("a large message that ends early");
    position += static_cast<std::size_t>(got);
  }
  return contents;
}

template <class T>
T read_as(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

union ControlBuffer {
  cmsghdr alignment;
  std::array<char, CMSG_SPACE(sizeof(int) * descriptor_limit)> bytes;
};

std::vector<FileDescriptor> take_descriptors(msghdr& header) {
  std::vector<FileDescriptor> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      descriptors.emplace_back(read_as<int>(reinterpret_cast<std::byte*>(CMSG_DATA(part)) + i * sizeof(int)));
    }
  }
  return descriptors;
}

/// Memory for a packet of any size: not on the stack, which may be small in a user's thread. One is kept for
/// the next packet, because the C library gives memory of this size back to the system when it is freed.
class PacketMemory {
 public:
  PacketMemory() : bytes_(kept_.exchange(nullptr)) {
    if (bytes_ == nullptr) bytes_ = new std::byte[packet_limit];
  }
  ~PacketMemory() { delete[] kept_.exchange(bytes_); }
  PacketMemory(const PacketMemory&) = delete;
  PacketMemory& operator=(const PacketMemory&) = delete;

  [[nodiscard]] std::byte* get() const noexcept { return bytes_; }

 private:
  static constinit inline std::atomic<std::byte*> kept_ = nullptr;
  std::byte* bytes_;
};

ReceivedMessage unpack(std::span<const std::byte> packet, std::vector<FileDescriptor> descriptors) {
  if (packet.size() < header_bytes) fail_damaged(std::to_string(packet.size()) + " bytes are no header");
  ReceivedMessage message;
  message.type = static_cast<MessageType>(read_as<std::uint16_t>(packet.data()));
  auto flags = read_as<std::uint16_t>(packet.data() + 2);
  message.tag = read_as<std::uint32_t>(packet.data() + 4);
  message.descriptors = std::move(descriptors);
  auto rest = packet.subspan(header_bytes);
  if ((flags & flag_has_time) != 0) {
    if (rest.size() < time_bytes) fail_damaged(std::to_string(rest.size()) + " bytes are no time");
    message.time = read_as<std::uint64_t>(rest.data());
    rest = rest.subspan(time_bytes);
    flags &= static_cast<std::uint16_t>(~flag_has_time);
  }
  if (flags == 0) {
    message.fields.assign(rest.begin(), rest.end());
  } else if (flags == flag_in_file && rest.size() == sizeof(std::uint64_t) && !message.descriptors.empty()) {
    message.fields = contents_of(message.descriptors.front(), read_as<std::uint64_t>(rest.data()));
    message.descriptors.erase(message.descriptors.begin());
  } else {
    fail_damaged("flags " + std::to_string(flags) + " with " + std::to_string(rest.size()) + " bytes and " +
                 std::to_string(message.descriptors.size()) + " descriptors");
  }
  return message;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw Error(NC_EIO, "the socket's path has " + std::to_string(path.size()) + " bytes, from 1 to " +
                            std::to_string(sizeof address.sun_path - 1) +
                            " are possible: choose a shorter run directory: " + path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

void expect_same_user(const FileDescriptor& socket, bool or_root = false) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    fail("ask for the user of");
  if (peer.uid != ::geteuid() && (peer.uid != 0 || !or_root)) {
    throw Error(NC_EPERM, "process " + std::to_string(peer.pid) + " at the other end belongs to user " +
                              std::to_string(peer.uid) + ", not to " + std::to_string(::geteuid()));
  }
}

}  // namespace

OutgoingMessage::OutgoingMessage(MessageType type, std::uint32_t tag, std::vector<std::byte> fields,
                                 std::span<const int> descriptors)
    : OutgoingMessage(type, tag, std::move(fields), duplicates_of(descriptors)) {}

OutgoingMessage::OutgoingMessage(MessageType type, std::uint32_t tag, std::vector<std::byte> fields,
                                 std::vector<SharedFile> files) {
  std::uint16_t flags = 0;
  if (fields.size() > inline_limit) {
    const std::uint64_t length = fields.size();
    if (length > fields_limit) {
      throw Error(NC_EMAX_REQ, "a message of " + std::to_string(length) +
                                   " bytes is larger than the limit of 1 GiB: split the call into several");
    }
    descriptors_.push_back(std::make_shared<const FileDescriptor>(file_with(fields)));
    flags = flag_in_file;
    fields.resize(sizeof length);
    std::memcpy(fields.data(), &length, sizeof length);
  }
  std::ranges::move(files, std::back_inserter(descriptors_));
  if (descriptors_.size() > descriptor_limit) throw Error(NC_EIO, "too many descriptors for one message");
  packet_.resize(header_bytes + fields.size());
  const auto code = static_cast<std::uint16_t>(type);
  std::memcpy(packet_.data(), &code, sizeof code);
  std::memcpy(packet_.data() + 2, &flags, sizeof flags);
  std::memcpy(packet_.data() + 4, &tag, sizeof tag);
  if (!fields.empty()) std::memcpy(packet_.data() + header_bytes, fields.data(), fields.size());
}

bool PacketSocket::try_send(const OutgoingMessage& message) const {
  return try_send(message, false);
}

bool PacketSocket::try_send(const OutgoingMessage& message, bool tells_time) const {
  auto* const packet = const_cast<std::byte*>(message.packet_.data());
  std::array<std::byte, header_bytes + time_bytes> head{};
  std::array<iovec, 2> data{
      {{packet, header_bytes}, {packet + header_bytes, message.packet_.size() - header_bytes}}};
  if (tells_time) {
    auto flags = read_as<std::uint16_t>(packet + 2);
    flags |= flag_has_time;
    const std::uint64_t time = send_time();
    std::memcpy(head.data(), packet, header_bytes);
    std::memcpy(head.data() + 2, &flags, sizeof flags);
    std::memcpy(head.data() + header_bytes, &time, sizeof time);
    data[0] = {head.data(), head.size()};
  }
  msghdr header{};
  header.msg_iov = data.data();
  header.msg_iovlen = data.size();
  ControlBuffer control{};
  const std::size_t count = message.descriptors_.size();
  if (count != 0) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int) * count);
    for (std::size_t i = 0; i < count; ++i) {
      const int number = message.descriptors_[i]->number();
      std::memcpy(CMSG_DATA(part) + i * sizeof(int), &number, sizeof number);
    }
  }
  for (;;) {
    if (::sendmsg(socket_.number(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    // Too many descriptors are under way: they arrive as the peer takes its packets.
    if (errno == ETOOMANYREFS) return false;
    fail("send on");
  }
}

void PacketSocket::send(const OutgoingMessage& message) const {
  const auto type = static_cast<MessageType>(read_as<std::uint16_t>(message.packet_.data()));
  while (!try_send(message, type != MessageType::hello)) {
    // The time limit is for the case that poll does not report (descriptors under way).
    pollfd wait{socket_.number(), POLLOUT, 0};
    ::poll(&wait, 1, 10);
  }
}

PacketSocket::Outcome PacketSocket::try_receive(ReceivedMessage& message) const {
  return receive_one(message, MSG_DONTWAIT);
}

/// `flags`: of recvmsg(2); MSG_DONTWAIT or 0.
PacketSocket::Outcome PacketSocket::receive_one(ReceivedMessage& message, int flags) const {
  const PacketMemory packet;  // one system call for any size
  iovec data{packet.get(), packet_limit};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  ssize_t got = 0;
  bool is_reset = false;  // told once, before what was sent earlier
  do {
    got = ::recvmsg(socket_.number(), &header, MSG_CMSG_CLOEXEC | flags);
  } while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !std::exchange(is_reset, true))));
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Outcome::would_block;
  if (got < 0 && errno == ECONNRESET) return Outcome::closed;
  if (got < 0) fail("receive from");
  if (got == 0) return Outcome::closed;
  auto descriptors = take_descriptors(header);
  if ((header.msg_flags & MSG_TRUNC) != 0) fail_damaged("it is longer than any packet may be");
  if ((header.msg_flags & MSG_CTRUNC) != 0) {
    throw Error(NC_ENFILE, "descriptors of a message were lost: too many files are open (ulimit -n)");
  }
  message = unpack({packet.get(), static_cast<std::size_t>(got)}, std::move(descriptors));
  return Outcome::received;
}

std::uint64_t PacketSocket::next_time() const noexcept {
  std::array<std::byte, header_bytes + time_bytes> head{};
  const ssize_t got = ::recv(socket_.number(), head.data(), head.size(), MSG_PEEK | MSG_DONTWAIT);
  const bool is_there = got == static_cast<ssize_t>(head.size()) &&
                        (read_as<std::uint16_t>(head.data() + 2) & flag_has_time) != 0;
  return is_there ? read_as<std::uint64_t>(head.data() + header_bytes) : 0;
}

/// Without a buffer for descriptors, the system reports that there are some, and keeps them with the packet.
bool PacketSocket::is_next_with_descriptors() const noexcept {
  std::byte first{};
  iovec data{&first, 1};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  const ssize_t got = ::recvmsg(socket_.number(), &header, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 && (header.msg_flags & MSG_CTRUNC) != 0;
}

/// Other threads may have taken the free descriptors; descriptors that they use briefly come back.
void PacketSocket::make_way(DescriptorReserve& reserve) const {
  constexpr int attempts = 500;
  constexpr int pause_ms = 10;
  for (int i = 0; i < attempts; ++i) {
    if (reserve.release_one()) return;
    if (!reserve.take_one()) ::poll(nullptr, 0, pause_ms);
  }
}

std::optional<ReceivedMessage> PacketSocket::receive(std::chrono::microseconds awake,
                                                     DescriptorReserve* reserve) const {
  using Clock = std::chrono::steady_clock;
  ReceivedMessage message;
  if (reserve == nullptr && awake.count() == 0) {  // one system call instead of two
    const Outcome outcome = receive_one(message, 0);
    if (outcome == Outcome::closed) return std::nullopt;
    if (outcome == Outcome::received) return message;
  }
  const auto asleep_from = Clock::now() + awake;
  // With a reserve, release one descriptor when a message has come: this is cheaper than checking the
  // message.
  bool may_be_there = reserve == nullptr && awake.count() > 0;
  for (;;) {
    if (may_be_there) {
      if (reserve != nullptr && !reserve->release_one() && is_next_with_descriptors()) make_way(*reserve);
      switch (try_receive(message)) {
        case Outcome::received:
          return message;
        case Outcome::closed:
          return std::nullopt;
        case Outcome::would_block:
          if (reserve != nullptr) reserve->take_one();
          break;
      }
    }
    pollfd wait{socket_.number(), POLLIN, 0};
    int ready = 0;
    while (ready == 0) ready = ::poll(&wait, 1, Clock::now() < asleep_from ? 0 : -1);
    if (ready < 0 && errno != EINTR) fail("wait for a message from");
    may_be_there = ready > 0;
  }
}

bool PacketSocket::is_alive() const noexcept {
  pollfd state{socket_.number(), POLLIN | POLLRDHUP, 0};
  return ::poll(&state, 1, 0) <= 0 || (state.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) == 0;
}

FileDescriptor listen_at(const std::string& path) {
  const sockaddr_un address = address_of(path);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("create a socket for", path);
  // On Linux the file gets the socket's mode. No process can connect before the mode is narrowed.
  if (::fchmod(socket.number(), 0600) != 0) fail("set the permissions of", path);
  if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("create the socket", path);
  if (::listen(socket.number(), SOMAXCONN) != 0) fail("listen at", path);
  return socket;
}

std::optional<PacketSocket> accept_connection(const FileDescriptor& listener) {
  for (;;) {
    FileDescriptor socket(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) {
      expect_same_user(socket);
      return PacketSocket(std::move(socket));
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR && errno != ECONNABORTED) fail("accept", "a connection");
  }
}

PacketSocket connect_to(const std::string& path) {
  const sockaddr_un address = address_of(path);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) fail("create a socket for", path);
  // A local connect that is interrupted while the listener's queue is full has done nothing yet: repeat it.
  while (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINTR) fail("connect to the matcher at", path);
  }
  expect_same_user(socket, true);
  return PacketSocket(std::move(socket));
}

SocketPair connected_pair() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail("create", "a socket pair");
  return {PacketSocket(FileDescriptor(ends[0])), PacketSocket(FileDescriptor(ends[1]))};
}

}  // namespace sluice::runtime
