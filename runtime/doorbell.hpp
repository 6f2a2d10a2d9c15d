#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Wakes matchers of the same machine that sleep on their sockets: MPI cannot. A datagram socket for each,
/// beside its client socket.
class Doorbell {
 public:
  /// `own`: this matcher's; `paths`: of each rank, empty where it is on another machine. Throws IoError.
  Doorbell(std::string own, std::vector<std::string> paths);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  /// Readable when somebody has rung.
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }
  /// Takes what was rung so far.
  void quiet() const noexcept;
  /// Never waits; who is awake, or does not listen yet, needs no bell.
  void ring(std::uint32_t rank) const noexcept;

 private:
  std::string own_;
  std::vector<std::string> paths_;
  FileDescriptor socket_;
};

}  // namespace sluice::runtime
