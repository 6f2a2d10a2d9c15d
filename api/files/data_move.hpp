#pragma once
#include <cstdint>
#include <vector>

#include "agreement.hpp"
#include "file_bytes.hpp"
#include "mpi_handles.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::api {

/// The data that moves in a file when a redefinition changes the layout. Data only moves to higher offsets
/// and keeps its order. The data forms one stream of bytes in file order. The stream is processed from its
/// end, so no byte is overwritten before it was read.
class DataMove {
 public:
  /// `to` is never less than `from`.
  struct Part {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t length = 0;
  };

  /// A layout before or after the redefinition: compute_layout() of the new header with the old layout as
  /// `previous`.
  struct Side {
    const formats::Header& header;
    const formats::Layout& layout;
  };
  /// Only data inside the file of `file_bytes` moves, because a damaged header may claim 2^60 records. Throws
  /// NC_EINTOVERFLOW if data would move beyond 2^63 - 1 bytes.
  DataMove(const Side& before, const Side& after, std::int64_t file_bytes);

  [[nodiscard]] std::int64_t stream_bytes() const noexcept {
    return fixed_bytes_ + record_bytes_ * record_count_;
  }
  /// The parts of stream bytes [begin, end), ascending. Neighbours that move by the same distance are merged.
  [[nodiscard]] std::vector<Part> parts(std::int64_t begin, std::int64_t end) const;

  /// Collective. Each rank holds at most about `chunk_bytes` at a time. Gaps of at most `gap_bytes` between
  /// destinations are overwritten with zeros; they hold no data yet.
  void run(const Communicator& comm, const FileBytes& file, std::int64_t chunk_bytes,
           std::int64_t gap_bytes) const;

 private:
  void check_offsets() const;

  std::int64_t file_bytes_ = 0;  ///< before the move
  std::vector<Part> fixed_;
  std::vector<Part> record_;  ///< in record 0
  std::int64_t fixed_bytes_ = 0;
  std::int64_t record_bytes_ = 0;
  std::int64_t record_count_ = 0;
  std::int64_t old_record_size_ = 0;
  std::int64_t new_record_size_ = 0;
};

/// Collective: returns on all ranks the size of a file in bytes, as rank 0 sees it. Only rank 0 calls `size`.
template <class Size>
[[nodiscard]] std::int64_t size_on_root(const Communicator& comm, const Size& size) {
  std::int64_t bytes = 0;
  run_collectively(comm, [&] {
    if (comm.is_root()) bytes = size();
  });
  check_mpi(MPI_Bcast(&bytes, 1, MPI_INT64_T, 0, comm.get()), "broadcast the size of a file");
  return bytes;
}

}  // namespace sluice::api
