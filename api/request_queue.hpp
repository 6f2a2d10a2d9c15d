#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "buffer_type.hpp"
#include "driver.hpp"

namespace sluice::api {

struct Dataset;

/// Where the elements of an access lie in the user's memory when that is not a dense row of them: a derived
/// MPI datatype, or varm's imap (or both, imap then speaks of the packed elements).
struct ScatteredBuffer {
  void* user = nullptr;
  BufferType type;
  std::int64_t items = 0;
  std::vector<std::int64_t> map_count;  ///< shape of the access; empty without imap
  std::vector<std::int64_t> map;        ///< imap

  /// User's memory → dense row of elements, and back.
  void gather(void* dense) const;
  void scatter(const void* dense) const;
};

/// A nonblocking request that was posted and is neither waited for nor cancelled yet. Owns its numbers; the
/// user's buffer stays the user's until the wait, but that of a bput has been copied.
struct PendingRequest {
  int id = -1;
  int varid = -1;
  formats::Type memory = formats::Type::nat;
  std::int64_t elements = 0;
  std::int64_t records = 0;  ///< puts: the record count that it makes at least; 0 for a fixed variable
  void* buffer = nullptr;    ///< dense: the user's, or `staging`
  std::unique_ptr<std::int64_t[]> numbers;  ///< starts, counts and strides of the slabs
  formats::HyperslabView slab;              ///< the only one, when `slabs` is empty
  std::vector<formats::HyperslabView> slabs;
  std::unique_ptr<std::byte[]> staging;        ///< dense copy of a buffer that is not dense
  std::unique_ptr<ScatteredBuffer> scattered;  ///< gets: where `staging` goes at the wait
  std::int64_t attached_bytes = 0;             ///< of a bput: its share of the attached buffer

  /// What the driver gets; refers to this request.
  [[nodiscard]] Access access() const noexcept;
};

/// The pending nonblocking requests of a dataset, in the order in which they were posted, and the buffer
/// attached for bput. Ids of puts are even, those of gets odd. Not locked: Dataset::mutex is.
class RequestQueue {
 public:
  enum class Kind { put, get };

  /// Appends and returns the id.
  int post(Kind kind, PendingRequest request);

  /// Number of pending requests (ncmpi_inq_nreqs).
  [[nodiscard]] int size() const noexcept { return static_cast<int>(puts_.size() + gets_.size()); }
  [[nodiscard]] bool empty() const noexcept { return puts_.empty() && gets_.empty(); }
  /// Pending requests of one kind, oldest first.
  [[nodiscard]] const std::vector<PendingRequest>& pending(Kind kind) const noexcept {
    return kind == Kind::put ? puts_ : gets_;
  }

  /// Takes all requests of a kind out of the queue, oldest first.
  [[nodiscard]] std::vector<PendingRequest> take_all(Kind kind);
  /// Takes one marked subset out, oldest first: `ids` sorted and without duplicates; ids that are not pending
  /// are passed over.
  [[nodiscard]] std::vector<PendingRequest> take(Kind kind, std::span<const int> ids);
  [[nodiscard]] bool contains(int id) const noexcept;

  /// The buffer for bput: only its accounting, as every copy is an allocation of its own. Throws
  /// Error(NC_ENULLBUF, NC_EPREVATTACHBUF).
  void attach(std::int64_t bytes);
  /// Throws Error(NC_ENULLABUF, NC_EPENDINGBPUT).
  void detach();
  /// Reserves room for one bput. Throws Error(NC_ENULLABUF, NC_EINSUFFBUF).
  void reserve(std::int64_t bytes);
  void release(std::int64_t bytes) noexcept { attached_used_ -= bytes; }
  /// Throw Error(NC_ENULLABUF).
  [[nodiscard]] std::int64_t attached_size() const;
  [[nodiscard]] std::int64_t attached_usage() const;

 private:
  std::vector<PendingRequest> puts_;
  std::vector<PendingRequest> gets_;
  bool is_attached_ = false;
  std::int64_t attached_size_ = 0;
  std::int64_t attached_used_ = 0;
};

/// ncmpi_wait_all (collective) and ncmpi_wait (independent): `count` may be NC_REQ_ALL, NC_GET_REQ_ALL or
/// NC_PUT_REQ_ALL; then `ids` and `statuses` are not looked at. Completed ids become NC_REQ_NULL. All puts go
/// to the driver as one list, then all gets as one. Returns the status of the call: the first error, of ids
/// or of requests; throws Error for errors of mode and driver.
int wait(Dataset& dataset, int count, int* ids, int* statuses, Mode mode);

/// ncmpi_cancel: as wait, but the requests are dropped.
int cancel(Dataset& dataset, int count, int* ids, int* statuses);

}  // namespace sluice::api
