#include "sluice/runtime/packet_socket.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <random>
#include <thread>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/segment.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

void send_raw(const PacketSocket& socket, const std::vector<std::byte>& packet) {
  REQUIRE(::send(socket.descriptor(), packet.data(), packet.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(packet.size()));
}

}  // namespace

TEST_CASE("messages of all sizes arrive whole and in order") {
  const SocketPair pair = connected_pair();
  const std::array<std::size_t, 9> sizes{0, 1, 7, 4096, 65535, 65536, 65537, 1U << 20, 40U << 20};
  std::thread sender([&] {
    std::uint32_t tag = 0;
    for (const std::size_t size : sizes) pair.first.send({MessageType::get, tag++, pattern(size)});
  });
  std::uint32_t tag = 0;
  for (const std::size_t size : sizes) {
    const auto message = pair.second.receive();
    REQUIRE(message);
    CHECK(message->type == MessageType::get);
    CHECK(message->tag == tag++);
    CHECK((message->fields == pattern(size)));
    CHECK(message->descriptors.empty());
  }
  sender.join();
}

TEST_CASE(
    "what a process has sent before it closed the connection arrives, also where it has left messages "
    "unread") {
  SocketPair pair = connected_pair();
  pair.second.send({MessageType::offers, 0, pattern(8)});
  for (std::uint32_t tag = 1; tag <= 3; ++tag) pair.first.send({MessageType::get, tag, pattern(tag)});
  { const PacketSocket closed = std::move(pair.first); }
  for (std::uint32_t tag = 1; tag <= 3; ++tag) {
    const auto message = pair.second.receive();
    REQUIRE(message);
    CHECK(message->tag == tag);
  }
  CHECK(!pair.second.receive());
}

TEST_CASE("descriptors come with their message, close-on-exec, beside a large payload too") {
  const SocketPair pair = connected_pair();
  const FileDescriptor segment = create_segment(4096);
  Mapping written(segment, {4096}, Mapping::Access::read_write);
  written.writable()[5] = std::byte{42};
  for (const std::size_t size : {std::size_t{10}, std::size_t{100000}}) {
    const std::array<int, 2> numbers{segment.number(), segment.number()};
    pair.first.send({MessageType::segment, 1, pattern(size), numbers});
    const auto message = pair.second.receive();
    REQUIRE(message);
    REQUIRE(message->descriptors.size() == 2);
    CHECK((message->fields == pattern(size)));
    CHECK((::fcntl(message->descriptors[0].number(), F_GETFD) & FD_CLOEXEC) != 0);
    const Mapping read(message->descriptors[1], {4096}, Mapping::Access::read);
    CHECK(read.bytes()[5] == std::byte{42});
  }
}

TEST_CASE("the non-blocking forms say when they would have to wait, and lose nothing") {
  const SocketPair pair = connected_pair();
  ReceivedMessage message;
  CHECK(pair.second.try_receive(message) == PacketSocket::Outcome::would_block);
  const OutgoingMessage outgoing(MessageType::event, 3, pattern(60000));
  int sent = 0;
  while (pair.first.try_send(outgoing)) ++sent;
  CHECK(sent > 0);
  int received = 0;
  while (pair.second.try_receive(message) == PacketSocket::Outcome::received) ++received;
  CHECK(received == sent);
  CHECK(pair.first.try_send(outgoing));
}

TEST_CASE("a closed connection is seen by the receiver and is an error, not a signal, for the sender") {
  SocketPair pair = connected_pair();
  CHECK(pair.second.is_alive());
  pair.first.send({MessageType::event, 0, {}});
  pair.first = PacketSocket(FileDescriptor{});
  CHECK_FALSE(pair.second.is_alive());
  CHECK(pair.second.receive().has_value());
  CHECK_FALSE(pair.second.receive().has_value());
  CHECK_THROWS_AS(pair.second.send({MessageType::event, 0, {}}), Error);
}

TEST_CASE("a packet without a header, with unknown flags or with a false length is an error") {
  const SocketPair pair = connected_pair();
  for (const auto& packet : {std::vector<std::byte>(7), std::vector<std::byte>(8, std::byte{255}),
                             std::vector<std::byte>{std::byte{1}, {}, std::byte{1}, {}, {}, {}, {}, {}}}) {
    send_raw(pair.first, packet);
    CHECK_THROWS_AS((void)pair.second.receive(), Error);
  }
  send_raw(pair.first, std::vector<std::byte>(70000));
  CHECK_THROWS_AS((void)pair.second.receive(), Error);
  // The connection still works.
  pair.first.send({MessageType::event, 5, {}});
  CHECK(pair.second.receive()->tag == 5);
}

TEST_CASE("a large message with a wrong length is an error") {
  const SocketPair pair = connected_pair();
  const FileDescriptor file = create_segment(1000);
  for (const std::uint64_t length : {std::uint64_t{999}, std::uint64_t{1001}, ~std::uint64_t{0}}) {
    std::array<std::byte, 16> packet{};
    packet[2] = std::byte{1};
    std::memcpy(packet.data() + 8, &length, sizeof length);
    iovec data{packet.data(), packet.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = file.number();
    std::memcpy(CMSG_DATA(part), &number, sizeof number);
    REQUIRE(::sendmsg(pair.first.descriptor(), &header, MSG_NOSIGNAL) == 16);
    CHECK_THROWS_AS((void)pair.second.receive(), Error);
  }
}

TEST_CASE("random packets are messages or errors, never more") {
  std::mt19937 random(test::test_seed());
  const SocketPair pair = connected_pair();
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> packet(1 + random() % 40);
    for (auto& byte : packet) byte = static_cast<std::byte>(random() % 3 == 0 ? random() : 0);
    send_raw(pair.first, packet);
    try {
      const bool is_there = pair.second.receive().has_value();
      CHECK(is_there);
    } catch (const Error& error) {
      CHECK(error.status() == NC_EIO);
    }
  }
}

TEST_CASE("clients connect by the path of a socket that only its user can enter") {
  const std::string path = "socket_test_" + std::to_string(::getpid());
  const FileDescriptor listener = listen_at(path);
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK_FALSE(accept_connection(listener).has_value());
  const PacketSocket client = connect_to(path);
  const auto server = accept_connection(listener);
  REQUIRE(server);
  client.send({MessageType::hello, 1, {}});
  CHECK(server->receive()->type == MessageType::hello);
  CHECK_THROWS_AS((void)listen_at(path), Error);
  ::unlink(path.c_str());
  CHECK_THROWS_AS((void)connect_to(path), Error);
  CHECK_THROWS_AS((void)connect_to(std::string(200, 'x')), Error);
}
