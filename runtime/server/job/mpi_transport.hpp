#pragma once
#include <mpi.h>

#include <functional>
#include <vector>

#include "mpi_requests.hpp"
#include "sluice/runtime/piece_transport.hpp"

namespace sluice::runtime {

/// Moves pieces by MPI, on a separate communicator that returns errors. Data uses another communicator, with
/// channels as tags. One thread; must be destroyed before MPI_Finalize.
class MpiTransport final : public PieceTransport {
 public:
  /// Collective over `world`. `ring`: called to wake another rank when there is something for it. Throws
  /// Error(NC_EIO).
  explicit MpiTransport(MPI_Comm world, std::function<void(std::uint32_t to)> ring = {});
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  [[nodiscard]] std::uint32_t rank() const noexcept override { return rank_; }
  [[nodiscard]] std::uint32_t size() const noexcept override { return size_; }
  void start(std::uint32_t to, std::vector<std::byte> piece) override;
  [[nodiscard]] std::optional<SentPiece> take_sent() override;
  bool receive(const Receiver& receiver) override;

  void start_data(DataRoute to, std::span<const std::byte> bytes, std::uint64_t key) override;
  void expect_data(DataRoute from, std::span<std::byte> place, std::uint64_t key) override;
  [[nodiscard]] std::optional<DataDone> take_sent_data() override;
  [[nodiscard]] std::optional<DataDone> take_landed_data() override;
  void begin_to_leave() override;
  [[nodiscard]] bool may_leave() override;

 private:
  void post_receive(std::size_t slot);
  [[nodiscard]] static MPI_Comm duplicate(MPI_Comm world);

  struct Sending {
    std::uint64_t key = 0;
    std::uint32_t to = 0;
  };

  MPI_Comm comm_ = MPI_COMM_NULL;  ///< never freed: freeing is collective, and the ranks end anyway
  MPI_Comm data_comm_ = MPI_COMM_NULL;
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  std::function<void(std::uint32_t)> ring_;
  MpiRequests<SentPiece> sends_{"send to other matchers"};
  MpiRequests<Sending> data_sends_{"send data to other matchers"};
  MpiRequests<std::uint64_t> data_receives_{"receive data from other matchers"};
  MPI_Request all_leave_ = MPI_REQUEST_NULL;
  /// Receives are posted ahead, and taken in the order in which they were posted, which is the order of MPI's
  /// messages.
  std::vector<std::vector<std::byte>> receive_buffers_;
  std::vector<MPI_Request> receives_;
  std::size_t next_receive_ = 0;
};

}  // namespace sluice::runtime
