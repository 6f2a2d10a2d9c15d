#pragma once
#include <cstdint>
#include <vector>

#include "file_bytes.hpp"
#include "mpi_handles.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::api {

/// What has to move in a file when a redefinition changes its layout: data only goes to higher offsets and
/// keeps its order. All data to move is seen as one stream of bytes in the order of the file, which is taken
/// from its end, so that nothing is overwritten before it was read.
class DataMove {
 public:
  /// `to` is never less than `from`.
  struct Part {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t length = 0;
  };

  /// Throws NC_ENOTSUPPORT when the old file's variables are in another order than the new ones.
  DataMove(const formats::Header& old_header, const formats::Layout& old_layout,
           const formats::Header& new_header, const formats::Layout& new_layout);

  [[nodiscard]] std::int64_t stream_bytes() const noexcept {
    return fixed_bytes_ + record_bytes_ * record_count_;
  }
  /// The parts of stream bytes [begin, end), ascending; neighbours that move by the same distance are one.
  [[nodiscard]] std::vector<Part> parts(std::int64_t begin, std::int64_t end) const;

  /// Collective. Each rank holds at most about `chunk_bytes` at a time. Gaps of at most `gap_bytes` between
  /// destinations are overwritten with zeros: nothing is there yet.
  void run(const Communicator& comm, const FileBytes& file, std::int64_t chunk_bytes,
           std::int64_t gap_bytes) const;

 private:
  void check_order(const std::vector<Part>& parts) const;

  std::vector<Part> fixed_;
  std::vector<Part> record_;  ///< of record 0
  std::int64_t fixed_bytes_ = 0;
  std::int64_t record_bytes_ = 0;
  std::int64_t record_count_ = 0;
  std::int64_t old_record_size_ = 0;
  std::int64_t new_record_size_ = 0;
};

}  // namespace sluice::api
