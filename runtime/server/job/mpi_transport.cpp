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

MPI_Comm MpiTransport::duplicate(MPI_Comm world) {
  MPI_Comm comm = MPI_COMM_NULL;
  check_matcher_mpi(MPI_Comm_dup(world, &comm), "duplicate the matchers' communicator");
  check_matcher_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "set an error handler");
  return comm;
}

MpiTransport::MpiTransport(MPI_Comm world, std::function<void(std::uint32_t to)> ring)
    : comm_(duplicate(world)), data_comm_(duplicate(world)), ring_(std::move(ring)) {
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
  data_receives_.cancel();
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
  sends_.add(request, {to, std::move(piece)});
  if (ring_) ring_(to);
}

std::optional<PieceTransport::SentPiece> MpiTransport::take_sent() {
  auto sent = sends_.take();
  if (!sent) return std::nullopt;
  return std::move(sent->belongings);
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
  // The receiver owns the buffer until it returns; then the buffer is posted behind the others.
  receiver(static_cast<std::uint32_t>(status.MPI_SOURCE),
           std::span<const std::byte>(receive_buffers_[slot]).first(static_cast<std::size_t>(bytes)));
  post_receive(slot);
  return true;
}

// Data

void MpiTransport::start_data(DataRoute to, std::span<const std::byte> bytes, std::uint64_t key) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_matcher_mpi(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                              static_cast<int>(to.rank), static_cast<int>(to.channel), data_comm_, &request),
                    "send data to matcher " + std::to_string(to.rank));
  data_sends_.add(request, {key, to.rank});
  if (ring_) ring_(to.rank);
}

void MpiTransport::expect_data(DataRoute from, std::span<std::byte> place, std::uint64_t key) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_matcher_mpi(
      MPI_Irecv(place.data(), static_cast<int>(place.size()), MPI_BYTE, static_cast<int>(from.rank),
                static_cast<int>(from.channel), data_comm_, &request),
      "receive data from matcher " + std::to_string(from.rank));
  data_receives_.add(request, key);
}

std::optional<PieceTransport::DataDone> MpiTransport::take_sent_data() {
  const auto sent = data_sends_.take();
  if (!sent) return std::nullopt;
  return DataDone{sent->belongings.key, 0, sent->belongings.to};
}

/// Wakes the sender, which can continue and may be asleep.
std::optional<PieceTransport::DataDone> MpiTransport::take_landed_data() {
  const auto landed = data_receives_.take();
  if (!landed) return std::nullopt;
  int bytes = 0;
  check_matcher_mpi(MPI_Get_count(&landed->status, MPI_BYTE, &bytes), "tell a message's length");
  const auto from = static_cast<std::uint32_t>(landed->status.MPI_SOURCE);
  if (ring_) ring_(from);
  return DataDone{landed->belongings, static_cast<std::size_t>(bytes), from};
}

void MpiTransport::begin_to_leave() {
  check_matcher_mpi(MPI_Ibarrier(comm_, &all_leave_), "wait for other matchers");
}

bool MpiTransport::may_leave() {
  int have_all = 0;
  check_matcher_mpi(MPI_Test(&all_leave_, &have_all, MPI_STATUS_IGNORE), "wait for other matchers");
  return have_all != 0;
}

}  // namespace sluice::runtime
