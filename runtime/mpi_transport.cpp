#include "mpi_transport.hpp"

#include <array>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {
constexpr int piece_tag = 1;
constexpr std::size_t posted_receives = 8;
}  // namespace

void check_matcher_mpi(int code, const std::string& action) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(NC_EIO, "MPI cannot " + action + ": " + std::string(text.data()));
}

MpiTransport::MpiTransport(MPI_Comm world, std::function<void(std::uint32_t to)> ring)
    : ring_(std::move(ring)) {
  check_matcher_mpi(MPI_Comm_dup(world, &comm_), "duplicate the matchers' communicator");
  check_matcher_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "set an error handler");
  int rank = 0;
  int size = 1;
  check_matcher_mpi(MPI_Comm_rank(comm_, &rank), "tell the rank");
  check_matcher_mpi(MPI_Comm_size(comm_, &size), "tell the number of matchers");
  rank_ = static_cast<std::uint32_t>(rank);
  size_ = static_cast<std::uint32_t>(size);
  receive_buffers_.resize(posted_receives);
  receives_.resize(posted_receives, MPI_REQUEST_NULL);
  for (std::size_t slot = 0; slot < posted_receives; ++slot) {
    receive_buffers_[slot].resize(max_piece_bytes);
    post_receive(slot);
  }
}

MpiTransport::~MpiTransport() {
  int has_ended = 0;
  MPI_Finalized(&has_ended);
  if (has_ended != 0) return;
  for (MPI_Request& request : receives_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
}

void MpiTransport::post_receive(std::size_t slot) {
  std::vector<std::byte>& buffer = receive_buffers_[slot];
  check_matcher_mpi(MPI_Irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, MPI_ANY_SOURCE,
                              piece_tag, comm_, &receives_[slot]),
                    "receive from other matchers");
}

void MpiTransport::start(std::uint32_t to, std::vector<std::byte> piece) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_matcher_mpi(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, static_cast<int>(to),
                              piece_tag, comm_, &request),
                    "send to matcher " + std::to_string(to));
  sends_.push_back(request);
  sending_.push_back({to, std::move(piece)});
  if (ring_) ring_(to);
}

std::optional<PieceTransport::SentPiece> MpiTransport::take_sent() {
  if (sent_.empty() && !sends_.empty()) {
    std::vector<int> finished(sends_.size());
    int count = 0;
    check_matcher_mpi(MPI_Testsome(static_cast<int>(sends_.size()), sends_.data(), &count, finished.data(),
                                   MPI_STATUSES_IGNORE),
                      "send to other matchers");
    for (int i = 0; i < count; ++i)
      sent_.push_back(std::move(sending_[static_cast<std::size_t>(finished[static_cast<std::size_t>(i)])]));
    if (count > 0) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < sends_.size(); ++i) {
        if (sends_[i] == MPI_REQUEST_NULL) continue;
        if (kept != i) sends_[kept] = sends_[i], sending_[kept] = std::move(sending_[i]);
        ++kept;
      }
      sends_.resize(kept);
      sending_.resize(kept);
    }
  }
  if (sent_.empty()) return std::nullopt;
  SentPiece first = std::move(sent_.front());
  sent_.pop_front();
  return first;
}

bool MpiTransport::receive(const Receiver& receiver) {
  int has_come = 0;
  MPI_Status status;
  const std::size_t slot = next_receive_;
  check_matcher_mpi(MPI_Test(&receives_[slot], &has_come, &status), "receive from other matchers");
  if (has_come == 0) return false;
  int bytes = 0;
  check_matcher_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "tell a message's length");
  next_receive_ = (slot + 1) % receives_.size();
  // The buffer is the receiver's until it returns; then it is posted behind the others.
  receiver(static_cast<std::uint32_t>(status.MPI_SOURCE),
           std::span<const std::byte>(receive_buffers_[slot]).first(static_cast<std::size_t>(bytes)));
  post_receive(slot);
  return true;
}

}  // namespace sluice::runtime
