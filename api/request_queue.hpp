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

/// A nonblocking request that was posted and is neither waited for nor cancelled yet. Owns its numbers; the
/// user's buffer stays the user's until the wait, unless it was copied into `staging`.
struct PendingRequest {
  int id = -1;
  int varid = -1;
  formats::Type memory = formats::Type::nat;
  std::int64_t elements = 0;
  std::int64_t record_end = 0;  ///< puts: the record after the last one touched; 0 for a fixed variable
  void* buffer = nullptr;       ///< a dense row: the user's, or `staging`
  std::shared_ptr<const formats::SlabList> slabs;  ///< shared with other requests that name the same
  std::unique_ptr<std::byte[]> staging;
  std::unique_ptr<ScatteredBuffer> scattered;  ///< gets: the user's memory when it is not a dense row
  bool is_long = false;                        ///< gets: see PreparedAccess
  int attached_slot = -1;                      ///< of a bput: its place in the attached buffer
  std::optional<std::int64_t> ticket;          ///< of a put that the driver has taken: Driver::post_put

  /// What the driver gets; refers to this request.
  [[nodiscard]] Access access() const noexcept;
};

/// The pending nonblocking requests of a dataset, in the order in which they were posted. Ids of puts are
/// even, those of gets odd, both grow while any of the kind are pending. Not locked: Dataset::mutex is.
class RequestQueue {
 public:
  enum class Kind { put, get };

  /// Appends and returns the id.
  int post(Kind kind, PendingRequest request);

  /// Number of pending requests (ncmpi_inq_nreqs).
  [[nodiscard]] int size() const noexcept { return static_cast<int>(puts_.size() + gets_.size()); }
  [[nodiscard]] bool empty() const noexcept { return puts_.empty() && gets_.empty(); }
  /// Whether so many are pending, and all of them puts, or all of them gets.
  [[nodiscard]] bool is_one_kind_of(int count) const noexcept {
    return count > 0 && size() == count && (puts_.empty() || gets_.empty());
  }
  [[nodiscard]] bool contains(int id) const noexcept;

  /// Takes all requests of a kind out of the queue, oldest first, and releases their part of the attached
  /// buffer.
  [[nodiscard]] std::vector<PendingRequest> take_all(Kind kind);
  /// Takes those out whose ids are in `ids` (sorted; ids that are not pending are passed over).
  [[nodiscard]] std::vector<PendingRequest> take(Kind kind, std::span<const int> ids);

  AttachedBuffer attached;
  RecentSlabs recent_slabs;  ///< of pending requests; emptied with the queue

 private:
  [[nodiscard]] std::deque<PendingRequest>& list(Kind kind) noexcept {
    return kind == Kind::put ? puts_ : gets_;
  }
  void release(std::span<const PendingRequest> taken) noexcept;

  std::deque<PendingRequest> puts_;  // most waits take from an end
  std::deque<PendingRequest> gets_;
  int next_put_id_ = 0;
  int next_get_id_ = 1;
};

}  // namespace sluice::api
