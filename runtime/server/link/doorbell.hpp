#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Wakes matchers of the same machine that sleep on their sockets; MPI cannot do that. Each matcher has a
/// datagram socket beside its client socket.
class Doorbell {
 public:
  /// `own`: the path of this matcher. `paths`: one for each rank, empty for ranks on another machine. Throws
  /// IoError.
  Doorbell(std::string own, std::vector<std::string> paths);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  /// Readable when another matcher has rung.
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }
  /// Clears all rings so far.
  void quiet() const noexcept;
  /// Never waits. A matcher that is awake, or does not listen yet, needs no ring.
  void ring(std::uint32_t rank) const noexcept;

 private:
  std::string own_;
  std::vector<std::string> paths_;
  FileDescriptor socket_;
};

}  // namespace sluice::runtime
