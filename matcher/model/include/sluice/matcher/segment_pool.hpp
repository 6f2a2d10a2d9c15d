#pragma once
#include <algorithm>
#include <boost/container/flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/matcher_place.hpp"
#include "sluice/matcher/segment_row.hpp"
#include "sluice/matcher/segment_table.hpp"

namespace sluice::matcher {

/// The smallest segment. All sizes are multiples of it.
inline constexpr std::uint64_t segment_unit_bytes = 4U << 10;

/// Segments of at least this size may have pages of this size: the first access to a byte takes the whole
/// page. Behind the last whole huge page the segment has small pages.
inline constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

/// A range of a burst-buffer log's data file: the space that a process has reserved for its puts.
struct LogPlace {
  std::string metadata_path;  ///< absolute path of the metadata log; empty: no log
  std::uint64_t offset_bytes = 0;
  bool is_kept = false;  ///< the user wants to keep the log after the run
  bool operator==(const LogPlace&) const = default;
};

/// How much of the spill disk a segment may use.
enum class DiskRoom : std::uint8_t {
  all,
  beyond_reserve,  ///< a part of the disk stays free for the files of others
};

/// The memory behind the segments: memory files and spill files in a matcher, messages to the matcher where
/// the registry is, plain memory in tests.
class SegmentMemory {
 public:
  virtual ~SegmentMemory() = default;
  /// Makes a zeroed segment of `bytes`. Throws Error(NC_ENO_SPACE) when the system has no memory for it.
  virtual void create(SegmentId segment, std::uint64_t bytes) = 0;
  /// Makes a zeroed segment of `bytes` on disk. Returns false when Registry::spill_made() reports the result
  /// later. Throws Error(NC_ENO_SPACE) when the disk is full, or has its reserve only.
  [[nodiscard]] virtual bool create_spilled(SegmentId segment, std::uint64_t bytes, DiskRoom room) = 0;
  /// Makes an empty file that is to have `bytes`: an image. It has no pages yet. Its holders keep its
  /// contents when the segment is destroyed. Throws as create().
  virtual void create_image(SegmentId segment, std::uint64_t bytes) { create(segment, bytes); }
  /// The same on disk, where room for `bytes` is reserved; as create_spilled().
  [[nodiscard]] virtual bool create_spilled_image(SegmentId segment, std::uint64_t bytes, DiskRoom room) {
    return create_spilled(segment, bytes, room);
  }
  /// Makes a segment of `bytes` that is a part of an existing log. The log's files are unlinked when the last
  /// segment of the log has been destroyed. A log is kept if its user wants that, or while keep_log() says
  /// so.
  virtual void create_logged(SegmentId /*segment*/, std::uint64_t /*bytes*/, const LogPlace& /*place*/) {}
  /// Says whether the log that the segment is, or was, a part of is needed longer than its segments.
  virtual void keep_log(SegmentId /*segment*/, bool /*is_kept*/) noexcept {}
  /// Prepares recycled memory for its next use. Word 0 of a table and the whole of a control block become 0;
  /// data is not changed.
  virtual void clear(SegmentId segment, SegmentUse use) = 0;
  /// Returns the memory or the disk space to the system, and informs the processes that have mapped the
  /// segment. Returns false when Registry::spill_gone() reports the end for a segment on disk later.
  virtual bool destroy(SegmentId segment) noexcept = 0;
  /// Returns the rest of the memory that this matcher has made ahead to the system.
  virtual void drop_warm(MatcherPlace /*matcher*/) noexcept {}
  /// The contents, for reading request tables. Valid until the segment is destroyed. Other processes may
  /// write to the memory at any time.
  [[nodiscard]] virtual std::span<const std::byte> contents(SegmentId segment) = 0;
  /// Tells the processes that share this control block that the process of `rank` has ended.
  virtual void mark_gone(SegmentId control, std::uint32_t rank) noexcept = 0;
};

class SegmentPool;

/// Memory that each matcher of a node makes ahead when a run starts. SegmentMemory::create() takes segments
/// from this memory as long as enough is left. Segments smaller than a huge page are made separately, so that
/// the others keep their huge pages.
struct WarmShares {
  std::uint32_t matchers = 0;
  std::uint64_t bytes = 0;  ///< for each matcher; a multiple of segment_unit_bytes
};

/// The default size of the memory that a node makes ahead. It is enough for the first steps of most runs, and
/// quick to make.
[[nodiscard]] constexpr std::uint64_t default_warm_bytes(std::uint64_t memory_bytes) noexcept {
  // with less memory, every byte is needed
  constexpr std::uint64_t least_memory_bytes = std::uint64_t{64} << 20;
  constexpr std::uint64_t most_bytes = std::uint64_t{512} << 20;
  return memory_bytes < least_memory_bytes ? 0 : std::min(memory_bytes / 2, most_bytes);
}

/// The shares of `matchers` matchers, at most `bytes` in total.
[[nodiscard]] constexpr WarmShares warm_shares(std::uint64_t bytes, std::uint32_t matchers) noexcept {
  const std::uint64_t units = matchers == 0 ? 0 : bytes / matchers / segment_unit_bytes;
  return {units == 0 ? 0 : matchers, units * segment_unit_bytes};
}

/// A segment in use. The destructor returns it to its pool. The pool outlives the lease.
class SegmentLease {
 public:
  SegmentLease() = default;
  ~SegmentLease() { release(); }
  SegmentLease(SegmentLease&& other) noexcept;
  SegmentLease& operator=(SegmentLease&& other) noexcept;

  [[nodiscard]] bool empty() const noexcept { return pool_ == nullptr; }
  [[nodiscard]] SegmentId id() const noexcept { return id_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// The bytes that count against the limit: the whole segment until trim().
  [[nodiscard]] std::uint64_t charged_bytes() const noexcept { return charged_bytes_; }
  /// Nothing more will be written to the segment, and no data is behind `used_bytes`. Memory that no process
  /// has touched no longer counts.
  void trim(std::uint64_t used_bytes) noexcept;
  /// More data will be written to the segment, so the whole segment counts again. Removes free segments when
  /// no other memory is left. Returns false when there is no memory.
  [[nodiscard]] bool restore() noexcept;
  void release() noexcept;

 private:
  friend class SegmentPool;
  friend class SegmentRuns;
  SegmentLease(SegmentPool* pool, SegmentId id, std::uint64_t bytes)
      : pool_(pool), id_(id), bytes_(bytes), charged_bytes_(bytes) {}

  SegmentPool* pool_ = nullptr;
  SegmentId id_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t charged_bytes_ = 0;
};

/// All segments of a node. The pool keeps freed segments and lends them again while their pages are warm: by
/// the matcher that owns them, and first to a process that has them mapped. First-touch page faults cost
/// several times as much as the copy.
/// The limit covers segments in use, free segments and memory made ahead, for all matchers of the node
/// together. A trimmed segment counts with the bytes that were ever touched. Spilled segments count
/// separately, and are destroyed when they are returned.
class SegmentPool {
 public:
  SegmentPool(SegmentMemory& memory, std::uint64_t limit_bytes, std::uint32_t node = 0,
              const WarmShares& warm = {});
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  /// The size of the segment for a request of `bytes`: the next of eight steps per power of two, at least one
  /// unit.
  [[nodiscard]] static std::uint64_t size_class(std::uint64_t bytes) noexcept;

  /// A request to the pool. `bytes` is not rounded.
  struct Request {
    std::uint64_t bytes = 0;
    SegmentUse use = SegmentUse::data;
    ProcessId process{};
    std::uint32_t matcher = 0;  ///< the matcher of the node that will own the segment
    bool is_on_disk = false;    ///< as SegmentRequest::is_on_disk
    DiskRoom room = DiskRoom::all;
  };

  /// Lends a free segment of about the right size.
  [[nodiscard]] std::optional<SegmentLease> recycle(const Request& request);
  /// How many of the processes, from the first on, get a segment by recycle() at once: each has the segment
  /// mapped that came back last. Only while no more than `room_bytes` are in use.
  [[nodiscard]] std::size_t count_recyclable(const Request& request, std::span<const ProcessId> processes,
                                             std::uint64_t room_bytes) const;
  /// What recycle() lends to them, one after the other. `count`: at most count_recyclable().
  [[nodiscard]] std::vector<SegmentLease> recycle(const Request& request, std::size_t count);
  /// Makes a new segment if the limit allows it. Throws as SegmentMemory::create() does.
  [[nodiscard]] std::optional<SegmentLease> make(const Request& request);
  /// At the limit: lends a larger free segment, or destroys free segments of other sizes and makes a new one.
  [[nodiscard]] std::optional<SegmentLease> squeeze(const Request& request);

  /// Makes the segment of an image, no larger than needed; it is destroyed when it is returned. Destroys free
  /// segments when no other memory is left. Returns nothing at the limit. Throws as
  /// SegmentMemory::create_image() does.
  [[nodiscard]] std::optional<SegmentLease> image(const Request& request);
  /// The same beyond the limit.
  [[nodiscard]] SegmentLease image_beyond_limit(const Request& request);

  struct Spilled {
    SegmentLease segment;
    bool is_made = false;  ///< otherwise it must not be lent before note_made()
  };
  /// Makes a new segment on disk, no larger than needed. Throws as SegmentMemory::create_spilled() does.
  [[nodiscard]] Spilled spill(const Request& request);
  /// Makes a segment that is a part of a log. It counts as spilled, and is destroyed when it is returned.
  [[nodiscard]] SegmentLease log(const Request& request, const LogPlace& place);
  void note_made(SegmentId segment) { segments_.at(segment).set(Mark::unmade, false); }
  /// The disk space of a segment has been returned after destroy() returned false.
  void note_gone(SegmentId segment) noexcept {
    if (going_.erase(segment) != 0) ++spills_given_back_;
  }

  /// Data of other nodes is written into the segment, and may still arrive after the segment is returned. The
  /// owning matcher delays the next user of the segment until all data has arrived. Control blocks have no
  /// such delay, because other matchers report them to their processes. The segment therefore never becomes a
  /// control block.
  void note_inbound(SegmentId segment) { segments_.at(segment).set(Mark::landed, true); }
  /// Notes that the process has received the segment.
  void note_mapped(SegmentId segment, ProcessId process);
  /// The process has ended. `may_write`: it was cut off in the middle of writing, or still runs. Then the
  /// segments that it has mapped are not lent to other processes again.
  void forget(ProcessId process, bool may_write);

  [[nodiscard]] std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return total_bytes_ - free_bytes_; }
  [[nodiscard]] std::uint64_t free_bytes() const noexcept { return free_bytes_; }
  [[nodiscard]] std::uint64_t used_peak_bytes() const noexcept { return used_peak_bytes_; }
  [[nodiscard]] std::uint64_t spilled_bytes() const noexcept { return spilled_bytes_; }
  [[nodiscard]] std::uint64_t spilled_peak_bytes() const noexcept { return spilled_peak_bytes_; }
  /// How many times a spilled segment has been returned. A change means that the disk may have space again.
  [[nodiscard]] std::uint64_t spills_given_back() const noexcept { return spills_given_back_; }
  /// Whether disk space is being returned now.
  [[nodiscard]] bool is_giving_disk_back() const noexcept { return !going_.empty(); }
  [[nodiscard]] SegmentMemory& memory() noexcept { return memory_; }

 private:
  friend class SegmentLease;
  friend class SegmentRuns;
  using Segment = SegmentTable::Segment;
  using Mark = SegmentTable::Mark;
  using FreeList = std::deque<SegmentId>;
  struct FreeKey {
    std::uint32_t matcher = 0;
    std::uint64_t bytes = 0;
    auto operator<=>(const FreeKey&) const = default;
  };
  using FreeLists = std::map<FreeKey, FreeList>;
  [[nodiscard]] bool suits(SegmentId id, const Request& request) const {
    return request.use != SegmentUse::control || !segments_.at(id).is(Mark::landed);
  }
  [[nodiscard]] std::optional<std::size_t> newest_in(const FreeList& list, const Request& request) const;

  [[nodiscard]] std::uint64_t trim(SegmentId id, std::uint64_t used_bytes) noexcept;
  [[nodiscard]] bool restore(SegmentId id) noexcept;
  void give_back(SegmentId id) noexcept { give_back(SegmentRow{id}); }
  /// The first segment, and those at equal distances behind it.
  /// The last one first.
  void give_back(const SegmentRow& row) noexcept;
  void destroy(SegmentId id) noexcept;
  [[nodiscard]] SegmentLease note_on_disk(SegmentId id, std::uint64_t bytes, bool is_made);
  [[nodiscard]] SegmentLease lend(FreeLists::iterator size, std::size_t position, SegmentUse use);
  void leave_free(SegmentId id, SegmentUse use);
  [[nodiscard]] std::optional<SegmentLease> create(std::uint64_t bytes, std::uint32_t matcher);
  void note_use() noexcept;
  [[nodiscard]] bool has_warm(std::uint32_t matcher, std::uint64_t bytes) const noexcept {
    return bytes >= huge_page_bytes && matcher < warm_left_.size() && bytes <= warm_left_[matcher];
  }
  void drop_warm() noexcept;

  SegmentMemory& memory_;
  std::uint64_t limit_bytes_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t free_bytes_ = 0;
  std::uint64_t used_peak_bytes_ = 0;
  std::uint64_t spilled_bytes_ = 0;
  std::uint64_t spilled_peak_bytes_ = 0;
  std::uint64_t spills_given_back_ = 0;
  std::uint32_t node_;
  std::vector<std::uint64_t> warm_left_;  ///< for each matcher; counts as free
  std::uint64_t next_number_ = 1;
  SegmentTable segments_;
  /// segments on disk that are destroyed but may still take disk space
  boost::container::flat_set<SegmentId> going_;
  FreeLists free_;  ///< the last segment of a list was freed last
};

}  // namespace sluice::matcher
