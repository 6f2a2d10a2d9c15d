#pragma once
#include <sys/epoll.h>

#include <cstdint>
#include <set>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Tells by one system call which of many sockets have something to receive.
class ReadableSockets {
 public:
  ReadableSockets();
  /// `number`: the caller's, by which the socket is named.
  void add(int socket, std::uint64_t number);
  /// Before the socket is closed.
  void remove(int socket, std::uint64_t number) noexcept;
  /// The numbers of the sockets that have something, or whose peer has gone. If the system could not watch a
  /// socket, it is always among them.
  [[nodiscard]] std::vector<std::uint64_t> ready();

 private:
  FileDescriptor watch_;
  std::size_t watched_ = 0;
  std::vector<epoll_event> events_;
  std::set<std::uint64_t> unwatched_;
};

}  // namespace sluice::runtime
