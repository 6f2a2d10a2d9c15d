#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attached_buffer.hpp"
#include "driver.hpp"
#include "recent_slabs.hpp"
#include "scattered_buffer.hpp"

namespace sluice::api {

/// A nonblocking request that is posted, and neither completed by a wait nor cancelled. It owns its numbers.
/// The user must keep the buffer until the wait, unless the data was copied to `staging`.
struct PendingRequest {
  int id = -1;
  int varid = -1;
  formats::Type memory = formats::Type::nat;
  std::int64_t elements = 0;
  std::int64_t record_end = 0;  ///< puts: the record after the last one touched; 0 for a fixed variable
  void* buffer = nullptr;       ///< a dense row: the user's buffer, or `staging`
  std::shared_ptr<const formats::SlabList> slabs;  ///< shared with other requests that use the same list
  std::unique_ptr<std::byte[]> staging;
  std::unique_ptr<ScatteredBuffer> scattered;  ///< gets: the user's memory if it is not a dense row
  bool is_long = false;                        ///< gets: see PreparedAccess
  int attached_slot = -1;                      ///< bput: its slot in the attached buffer
  std::optional<std::int64_t> ticket;          ///< a put that the driver keeps: Driver::post_put

  /// The access for the driver; it refers to this request.
  [[nodiscard]] Access access() const noexcept;
};

/// The pending nonblocking requests of a dataset, in the order of posting. Puts have even ids, gets odd ids.
/// Ids of a kind grow while requests of this kind are pending. Dataset::mutex protects the queue.
class RequestQueue {
 public:
  enum class Kind { put, get };

  /// Appends the request and returns its id.
  int post(Kind kind, PendingRequest request);

  /// The number of pending requests (ncmpi_inq_nreqs).
  [[nodiscard]] int size() const noexcept { return static_cast<int>(puts_.size() + gets_.size()); }
  [[nodiscard]] bool empty() const noexcept { return puts_.empty() && gets_.empty(); }
  /// Whether exactly `count` requests are pending, and all are puts or all are gets.
  [[nodiscard]] bool is_one_kind_of(int count) const noexcept {
    return count > 0 && size() == count && (puts_.empty() || gets_.empty());
  }
  [[nodiscard]] bool contains(int id) const noexcept;

  /// Removes all requests of a kind from the queue and returns them, oldest first. Frees their slots in the
  /// attached buffer.
  [[nodiscard]] std::vector<PendingRequest> take_all(Kind kind);
  /// Removes and returns the requests with these ids (sorted). Ignores ids that are not pending.
  [[nodiscard]] std::vector<PendingRequest> take(Kind kind, std::span<const int> ids);

  AttachedBuffer attached;
  RecentSlabs recent_slabs;  ///< lists of pending requests; emptied with the queue

 private:
  [[nodiscard]] std::deque<PendingRequest>& list(Kind kind) noexcept {
    return kind == Kind::put ? puts_ : gets_;
  }
  void release(std::span<const PendingRequest> taken) noexcept;

  std::deque<PendingRequest> puts_;  // most waits take requests from an end
  std::deque<PendingRequest> gets_;
  int next_put_id_ = 0;
  int next_get_id_ = 1;
};

}  // namespace sluice::api
