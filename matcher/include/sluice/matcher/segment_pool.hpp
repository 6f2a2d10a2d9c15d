#pragma once
#include <algorithm>
#include <boost/container/flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/matcher_place.hpp"

namespace sluice::matcher {

/// A client process as the registry knows it; never used again for another one.
enum class ProcessId : std::uint64_t {};

/// Smallest segment; all sizes are multiples of it.
inline constexpr std::uint64_t segment_unit_bytes = 4U << 10;

/// Segments of this and more may have pages of this size: who touches a byte takes all of one. Behind the
/// last whole one there are small pages.
inline constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

/// A range of a burst-buffer log's data file: where a process has reserved room for what it puts.
struct LogPlace {
  std::string metadata_path;  ///< of the log, absolute; empty: no log
  std::uint64_t offset_bytes = 0;
  bool is_kept = false;  ///< the user wants the log to outlast the run
};

/// What is behind the segments: memfds and spill files in a matcher rank, messages to it where the registry
/// is, plain memory in tests.
class SegmentMemory {
 public:
  virtual ~SegmentMemory() = default;
  /// Makes a zeroed segment of `bytes`. Throws Error(NC_ENO_SPACE) when the system has none.
  virtual void create(SegmentId segment, std::uint64_t bytes) = 0;
  /// Makes a zeroed segment of `bytes` on disk. False: whether that succeeds is told later, by
  /// Registry::spill_made(). Throws Error(NC_ENO_SPACE) when the disk is full.
  [[nodiscard]] virtual bool create_spilled(SegmentId segment, std::uint64_t bytes) = 0;
  /// A segment of `bytes` that is a part of a log, which is there. The log's names go when the last of its
  /// segments has been destroyed, unless it is kept: because its user wants that, or until keep_log() says
  /// that it need not be any more.
  virtual void create_logged(SegmentId /*segment*/, std::uint64_t /*bytes*/, const LogPlace& /*place*/) {}
  /// The log that the segment is, or was, a part of is needed beyond its segments, or is not any more.
  virtual void keep_log(SegmentId /*segment*/, bool /*is_kept*/) noexcept {}
  /// Prepares recycled memory for its next use: word 0 of a table and the whole of a control block become 0,
  /// data is left alone.
  virtual void clear(SegmentId segment, SegmentUse use) = 0;
  /// Gives the memory, or the disk, back to the system, and lets the processes that have mapped it know.
  /// False: of a segment on disk it is told later, by Registry::spill_gone().
  virtual bool destroy(SegmentId segment) noexcept = 0;
  /// Gives what is left of the memory that this matcher has made ahead back to the system.
  virtual void drop_warm(MatcherPlace /*matcher*/) noexcept {}
  /// The contents, for reading request tables; valid until the segment is destroyed. Other processes may
  /// write to it at any time.
  [[nodiscard]] virtual std::span<const std::byte> contents(SegmentId segment) = 0;
  /// Tells the processes that share this control block that the one of `rank` is gone.
  virtual void mark_gone(SegmentId control, std::uint32_t rank) noexcept = 0;
};

class SegmentPool;

/// Memory that each matcher of a node makes ahead when a run starts. SegmentMemory::create() takes a segment
/// from it as long as it has so much left; those of less than a huge page are made by themselves, so that the
/// others keep their pages.
struct WarmShares {
  std::uint32_t matchers = 0;
  std::uint64_t bytes = 0;  ///< of each; a multiple of segment_unit_bytes
};

/// What a node makes ahead unless it is told: enough for the first steps of most runs, and soon made.
[[nodiscard]] constexpr std::uint64_t default_warm_bytes(std::uint64_t memory_bytes) noexcept {
  constexpr std::uint64_t least_memory_bytes = std::uint64_t{64} << 20;  // with less, each byte is counted
  constexpr std::uint64_t most_bytes = std::uint64_t{512} << 20;
  return memory_bytes < least_memory_bytes ? 0 : std::min(memory_bytes / 2, most_bytes);
}

/// The shares of so many matchers, within `bytes` together.
[[nodiscard]] constexpr WarmShares warm_shares(std::uint64_t bytes, std::uint32_t matchers) noexcept {
  const std::uint64_t units = matchers == 0 ? 0 : bytes / matchers / segment_unit_bytes;
  return {units == 0 ? 0 : matchers, units * segment_unit_bytes};
}

/// A segment in use; goes back to its pool when it is destroyed. The pool outlives it.
class SegmentLease {
 public:
  SegmentLease() = default;
  ~SegmentLease() { release(); }
  SegmentLease(SegmentLease&& other) noexcept;
  SegmentLease& operator=(SegmentLease&& other) noexcept;

  [[nodiscard]] bool empty() const noexcept { return pool_ == nullptr; }
  [[nodiscard]] SegmentId id() const noexcept { return id_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// What counts against the limit: all of it until trim().
  [[nodiscard]] std::uint64_t charged_bytes() const noexcept { return charged_bytes_; }
  /// Nothing more will be written to it, and nothing is behind `used_bytes`: memory that nobody has touched
  /// counts no longer.
  void trim(std::uint64_t used_bytes) noexcept;
  /// More will be written to it: all of it counts again, in the place of free segments where there is no
  /// other room. False: there is none.
  [[nodiscard]] bool restore() noexcept;
  void release() noexcept;

 private:
  friend class SegmentPool;
  SegmentLease(SegmentPool* pool, SegmentId id, std::uint64_t bytes)
      : pool_(pool), id_(id), bytes_(bytes), charged_bytes_(bytes) {}

  SegmentPool* pool_ = nullptr;
  SegmentId id_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t charged_bytes_ = 0;
};

/// All segments of a node. Freed segments are kept and given out again warm, by the matcher that owns them,
/// first to a process that has them mapped: first-touch page faults cost several times the copy. Segments in
/// use, free ones and what was made ahead together stay within the limit, whichever matcher of the node owns
/// them; of one that was trimmed, what has ever been touched counts. Spilled ones are apart from all this:
/// they count on their own, and are destroyed when they are given back.
class SegmentPool {
 public:
  SegmentPool(SegmentMemory& memory, std::uint64_t limit_bytes, std::uint32_t node = 0,
              const WarmShares& warm = {});
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  /// What a request for `bytes` is served with: the next of eight steps per power of two, at least one unit.
  [[nodiscard]] static std::uint64_t size_class(std::uint64_t bytes) noexcept;

  /// What is asked of the pool. `bytes` is not rounded.
  struct Request {
    std::uint64_t bytes = 0;
    SegmentUse use = SegmentUse::data;
    ProcessId process{};
    std::uint32_t matcher = 0;  ///< of the node: that will own it
  };

  /// A free segment of about the right size.
  [[nodiscard]] std::optional<SegmentLease> recycle(const Request& request);
  /// A new segment, if there is room beneath the limit. Throws what SegmentMemory::create throws.
  [[nodiscard]] std::optional<SegmentLease> make(const Request& request);
  /// At the limit: a larger free segment, or a new one in the place of free ones of other sizes, which are
  /// destroyed.
  [[nodiscard]] std::optional<SegmentLease> squeeze(const Request& request);

  struct Spilled {
    SegmentLease segment;
    bool is_made = false;  ///< else it is to be lent to nobody before note_made()
  };
  /// A new segment on disk, no larger than needed. Throws what SegmentMemory::create_spilled throws.
  [[nodiscard]] Spilled spill(const Request& request);
  /// A part of a log; counts as spilled, and is destroyed when it is given back.
  [[nodiscard]] SegmentLease log(const Request& request, const LogPlace& place);
  void note_made(SegmentId segment) { segments_.at(segment).is_made = true; }
  /// The disk has been given back of which destroy() said that it would be told later.
  void note_gone(SegmentId segment) noexcept {
    if (going_.erase(segment) != 0) ++spills_given_back_;
  }

  /// Data of other nodes lands in the segment, of which some may still be under way when it is given back.
  /// Who owns it holds off its next user until then; but not those of a control block, of which other
  /// matchers tell their processes: so it does not become one.
  void note_landing(SegmentId segment) { segments_.at(segment).has_landed = true; }
  /// Notes that the process has been given the segment.
  void note_mapped(SegmentId segment, ProcessId process);
  /// The process has ended. `may_write`: it was cut off in the middle of writing, or still runs: what it has
  /// mapped is not given to others any more.
  void forget(ProcessId process, bool may_write);

  [[nodiscard]] std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return total_bytes_ - free_bytes_; }
  [[nodiscard]] std::uint64_t free_bytes() const noexcept { return free_bytes_; }
  [[nodiscard]] std::uint64_t used_peak_bytes() const noexcept { return used_peak_bytes_; }
  [[nodiscard]] std::uint64_t spilled_bytes() const noexcept { return spilled_bytes_; }
  [[nodiscard]] std::uint64_t spilled_peak_bytes() const noexcept { return spilled_peak_bytes_; }
  /// How often a spilled segment has been given back: whether the disk may have room again.
  [[nodiscard]] std::uint64_t spills_given_back() const noexcept { return spills_given_back_; }
  /// Whether some of the disk is being given back now.
  [[nodiscard]] bool is_giving_disk_back() const noexcept { return !going_.empty(); }
  [[nodiscard]] SegmentMemory& memory() noexcept { return memory_; }

 private:
  friend class SegmentLease;
  struct Segment {
    std::uint64_t bytes = 0;
    std::uint64_t touched_bytes = 0;  ///< by earlier uses, at most
    std::uint64_t spared_bytes = 0;   ///< its end, which does not count
    bool is_trimmed = false;
    bool is_free = false;
    bool is_tainted = false;
    bool is_made = true;
    bool has_landed = false;  ///< note_landing(), and nobody has had it since
    boost::container::flat_set<ProcessId> mapped_by;
  };
  using FreeList = std::vector<SegmentId>;
  struct FreeKey {
    std::uint32_t matcher = 0;
    std::uint64_t bytes = 0;
    auto operator<=>(const FreeKey&) const = default;
  };
  using FreeLists = std::map<FreeKey, FreeList>;
  [[nodiscard]] bool suits(SegmentId id, const Request& request) const {
    return request.use != SegmentUse::control || !segments_.at(id).has_landed;
  }
  [[nodiscard]] std::optional<std::size_t> newest_in(const FreeList& list, const Request& request) const;

  [[nodiscard]] std::uint64_t trim(SegmentId id, std::uint64_t used_bytes) noexcept;
  [[nodiscard]] bool restore(SegmentId id) noexcept;
  void give_back(SegmentId id) noexcept;
  void destroy(SegmentId id) noexcept;
  [[nodiscard]] SegmentLease note_on_disk(SegmentId id, std::uint64_t bytes, bool is_made);
  [[nodiscard]] SegmentLease lend(FreeLists::iterator size, std::size_t position, SegmentUse use);
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
  std::vector<std::uint64_t> warm_left_;  ///< of each matcher; counts as free
  std::uint64_t next_number_ = 1;
  std::map<SegmentId, Segment> segments_;
  boost::container::flat_set<SegmentId> going_;  ///< on disk, destroyed, and may still take room
  FreeLists free_;                               ///< the last of a list was freed last
};

}  // namespace sluice::matcher
