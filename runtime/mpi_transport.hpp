#pragma once
#include <mpi.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "sluice/runtime/piece_transport.hpp"

namespace sluice::runtime {

/// Throws Error(NC_EIO) with MPI's text unless `code` is MPI_SUCCESS. `action`: "send to another matcher".
void check_matcher_mpi(int code, const std::string& action);

/// Pieces by MPI, on a communicator of their own whose errors return. One thread; between its construction
/// and MPI_Finalize.
class MpiTransport final : public PieceTransport {
 public:
  /// Collective over `world`. `ring`: called when a piece has been started, to wake the rank that it is for.
  /// Throws Error(NC_EIO).
  explicit MpiTransport(MPI_Comm world, std::function<void(std::uint32_t to)> ring = {});
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  [[nodiscard]] std::uint32_t rank() const noexcept override { return rank_; }
  [[nodiscard]] std::uint32_t size() const noexcept override { return size_; }
  void start(std::uint32_t to, std::vector<std::byte> piece) override;
  [[nodiscard]] std::optional<SentPiece> take_sent() override;
  bool receive(const Receiver& receiver) override;

 private:
  void post_receive(std::size_t slot);

  MPI_Comm comm_ = MPI_COMM_NULL;  ///< never freed: that would be collective, and the ranks end anyhow
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  std::function<void(std::uint32_t)> ring_;
  std::vector<MPI_Request> sends_;
  std::vector<SentPiece> sending_;  ///< of each request
  std::deque<SentPiece> sent_;
  /// Receives are posted ahead, and taken in the order in which they were posted: that is the order of MPI's
  /// messages.
  std::vector<std::vector<std::byte>> receive_buffers_;
  std::vector<MPI_Request> receives_;
  std::size_t next_receive_ = 0;
};

}  // namespace sluice::runtime
