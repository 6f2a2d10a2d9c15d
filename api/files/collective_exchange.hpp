#pragma once
#include <array>
#include <span>
#include <vector>

#include "file_access.hpp"
#include "file_bytes.hpp"
#include "file_domains.hpp"
#include "file_options.hpp"
#include "mpi_handles.hpp"
#include "staging_window.hpp"

namespace sluice::api {

/// Collective access in two phases. Ranks and aggregators exchange elements in the file's representation.
/// Each aggregator accesses its own part of the file in few large contiguous pieces. A rank's messages hold
/// the rank's file ranges and, for a put, their elements.
class CollectiveExchange {
 public:
  /// All arguments outlive this object.
  CollectiveExchange(const Communicator& comm, const FileBytes& file, const FileOptions& options)
      : comm_(comm), file_(file), options_(options) {}

  /// Collective: exchanges one batch of every rank's request. An aggregator whose file access fails throws at
  /// the end. `bridges_gaps` is set for a put if no process outside the communicator writes to the file.
  /// Small gaps between the ranges of the put are then read and written back.
  void put(FileRequest& request, std::span<const RequestSummary> summaries, bool bridges_gaps);
  void get(FileRequest& request, std::span<const RequestSummary> summaries);

 private:
  /// An answer in transit. There are few slots, so that many ranks that read the same data do not need as
  /// many buffers.
  struct AnswerSlot {
    ByteBuffer bytes;
    MPI_Request send = MPI_REQUEST_NULL;
  };

  FileDomains divide(const FileRequest& request, std::span<const RequestSummary> summaries);
  void find_aggregators();
  [[nodiscard]] int rank_of(int aggregator) const {
    return aggregator_ranks_[static_cast<std::size_t>(aggregator)];
  }
  /// The index of this rank among the aggregators, or -1.
  [[nodiscard]] int my_aggregator(const FileDomains& domains) const noexcept;

  void send_elements(FileRequest& request, const FileDomains& domains, std::size_t round);
  void collect(FileRequest& request, std::span<const RequestSummary> summaries, const FileRange& window);

  void ask_for_elements(FileRequest& request, const FileDomains& domains, std::size_t round);
  void take_questions(const FileRequest& request, std::span<const RequestSummary> summaries,
                      const FileRange& window);
  void answer(FileRequest& request, std::span<const RequestSummary> summaries, const FileRange& window);
  void take_answers(FileRequest& request, const FileDomains& domains, std::size_t round);

  void send(int rank, int tag, const std::byte* bytes, std::size_t size);
  void receive(int rank, int tag, ByteBuffer& bytes);
  void finish_sends();

  const Communicator& comm_;
  const FileBytes& file_;
  const FileOptions& options_;
  std::vector<int> aggregator_ranks_;  ///< set at the first exchange
  StagingWindow window_;
  Coverage coverage_;
  std::vector<ByteBuffer> to_aggregators_;  ///< by aggregator
  std::vector<ByteBuffer> answers_;         ///< by aggregator: elements that this rank requested
  std::vector<ByteBuffer> from_ranks_;      ///< by rank; only one for puts
  std::array<AnswerSlot, 8> answer_slots_;
  std::vector<MPI_Request> sends_;
  std::vector<MPI_Request> receives_;
};

}  // namespace sluice::api
