#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "disk_worker.hpp"
#include "file_ranges.hpp"
#include "log_files.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/huge_page_files.hpp"
#include "sluice/runtime/segment.hpp"
#include "warm_memory.hpp"

namespace sluice::runtime {

/// The matcher's segments as memory files, and as files on disk. The store never touches data. It maps
/// request tables and control blocks when they are first used. A separate thread does slow disk operations;
/// the loop reports their results.
class SegmentStore final : public matcher::SegmentMemory {
 public:
  struct DiskEvents {
    /// The segment on disk was made, or could not be made (`trouble`).
    std::function<void(matcher::SegmentId segment, const std::string& trouble)> made;
    /// The disk space of the segment has been returned.
    std::function<void(matcher::SegmentId segment)> gone;
  };
  /// `disk` must be destroyed before this object, and after the handlers of `events` have run.
  SegmentStore(DiskWorker& disk, DiskEvents events);
  void create(matcher::SegmentId segment, std::uint64_t bytes) override;
  [[nodiscard]] bool create_spilled(matcher::SegmentId segment, std::uint64_t bytes,
                                    matcher::DiskRoom room) override;
  void create_image(matcher::SegmentId segment, std::uint64_t bytes) override;
  [[nodiscard]] bool create_spilled_image(matcher::SegmentId segment, std::uint64_t bytes,
                                          matcher::DiskRoom room) override;
  void create_logged(matcher::SegmentId segment, std::uint64_t bytes,
                     const matcher::LogPlace& place) override;
  void keep_log(matcher::SegmentId segment, bool is_kept) noexcept override;
  /// LogFiles::expect, forget and end.
  void expect_log(matcher::ProcessId process, const std::string& path) { logs_.expect(process, path); }
  void forget_log(const std::string& path) { logs_.forget(path); }
  void end_logs(matcher::ProcessId process) noexcept { logs_.end(process); }
  void clear(matcher::SegmentId segment, matcher::SegmentUse use) override;
  bool destroy(matcher::SegmentId segment) noexcept override;
  void drop_all_warm() noexcept;
  [[nodiscard]] std::span<const std::byte> contents(matcher::SegmentId segment) override;
  void mark_gone(matcher::SegmentId control, std::uint32_t rank) noexcept override;

  /// The segment is made on disk, and no process knows of it yet.
  [[nodiscard]] bool is_being_made(matcher::SegmentId segment) const noexcept {
    return being_made_.contains(segment);
  }

  /// The run ends without errors: the data of logs that are not kept has reached their files. Without this
  /// call all logs keep their names. The loop calls `done` when the logs are removed.
  void remove_logs(std::function<void()> done);
  /// Work on files on disk: DiskWorker::submit.
  void use_disk(std::function<void()> work, std::function<void()> then) {
    disk_.submit(std::move(work), std::move(then));
  }
  /// The number of disk operations that are not done.
  [[nodiscard]] std::size_t disk_tasks() { return disk_.left(); }

  /// Sets the directory for new segments on disk. `can_punch`: its file system can return ranges of a file;
  /// otherwise each segment has a file of its own.
  void set_spill_directory(const std::string& directory, bool can_punch = true);
  [[nodiscard]] const std::string& spill_directory() const noexcept { return spill_directory_; }

  /// From now on, segments of at least a huge page are made there.
  void use_huge_pages(HugePageFiles files) { huge_pages_ = std::move(files); }
  [[nodiscard]] bool uses_huge_pages() const noexcept { return huge_pages_.has_value(); }

  /// Starts to make memory ahead for new segments; 0: none. Throws as create_segment(), and std::system_error
  /// when no thread can be started.
  void prewarm(std::uint64_t bytes);
  /// Memory made ahead, and memory used from it when it was ready; 0 / 0: nothing is made ahead.
  struct WarmUse {
    std::uint64_t made_bytes = 0;
    std::uint64_t used_bytes = 0;
  };
  [[nodiscard]] WarmUse warm_use() const noexcept;

  /// Adds a segment of another matcher of this node. `file` is empty when the file is known by its number.
  /// Throws Error(NC_EIO) for an unknown number.
  void adopt(matcher::SegmentId segment, const SegmentExtent& extent, FileDescriptor file,
             bool has_cheap_faults = false);
  /// The segment could not be made: its descriptor is refused with NC_ENO_SPACE, and its contents are empty.
  void note_failure(matcher::SegmentId segment);
  [[nodiscard]] bool contains(matcher::SegmentId segment) const { return entries_.contains(segment); }
  /// Not where it could not be made. An image may be a file without bytes.
  [[nodiscard]] bool has_file(matcher::SegmentId segment) const {
    const auto found = entries_.find(segment);
    return found != entries_.end() && found->second.file != nullptr;
  }
  /// Whether the order to make the segment is still to come; numbers ascend.
  [[nodiscard]] bool is_expected(matcher::SegmentId segment) const noexcept {
    return !matcher::is_spilled(segment) &&
           segment > last_made_;  // segments on disk exist when they are named
  }

  /// An image is this file of `bytes` bytes instead of its own; shared with who has it.
  void replace_image(matcher::SegmentId segment, std::shared_ptr<const FileDescriptor> file,
                     std::uint64_t bytes);

  /// Tells the group of a control block that a get waits for its puts, or that none does. After this call,
  /// the request tables show all earlier puts.
  void set_awaited(matcher::SegmentId control, bool is_awaited);

  /// The descriptor of a segment's file, for processes that may map it; shared. Throws Error(NC_EIO) when the
  /// segment does not exist.
  [[nodiscard]] std::shared_ptr<const FileDescriptor> descriptor(matcher::SegmentId segment) const;
  /// What opens the segment's file, for any thread. Throws as descriptor(), but for an error of opening.
  [[nodiscard]] MappedFile::Opener opener(matcher::SegmentId segment) const;
  /// What opens the burst-buffer logs that have some of these segments, which are not mapped.
  [[nodiscard]] std::vector<MappedFile::Opener> log_openers(
      std::span<const matcher::SegmentId> segments) const;
  [[nodiscard]] SegmentExtent extent(matcher::SegmentId segment) const;
  /// Whether first use of the segment has cheap page faults: its pages were made ahead, or are huge.
  [[nodiscard]] bool has_cheap_faults(matcher::SegmentId segment) const {
    return at(segment).has_cheap_faults;
  }

  /// The contents for writing; empty when the segment does not exist.
  [[nodiscard]] std::span<std::byte> writable(matcher::SegmentId segment);

  /// Keeps the segment's memory mapped as long as the result lives, even when the segment has been destroyed.
  /// Throws as contents().
  [[nodiscard]] std::shared_ptr<const void> keep_mapped(matcher::SegmentId segment);

  /// The segments destroyed since the last call.
  [[nodiscard]] std::vector<matcher::SegmentId> take_destroyed() noexcept;

 private:
  struct Entry {
    std::shared_ptr<MappedFile> file;  ///< shared by its segments; null: the file could not be made
    SegmentExtent extent;
    bool is_own = true;
    bool has_cheap_faults = false;
    bool is_image = false;                  ///< its holders keep the contents
    std::shared_ptr<Mapping> mapping = {};  ///< shared with users that keep it mapped
  };
  [[nodiscard]] const Entry& at(matcher::SegmentId segment) const;
  [[nodiscard]] const MappedFile& file_of(matcher::SegmentId segment) const;
  enum class Own : std::uint8_t { range, file };
  void spill(matcher::SegmentId segment, std::uint64_t bytes, Own own, matcher::DiskRoom room);
  [[nodiscard]] static std::shared_ptr<Mapping> map(const Entry& entry);
  [[nodiscard]] std::span<std::byte> mapped(matcher::SegmentId segment);

  [[nodiscard]] std::optional<WarmMemory::Range> cut_warm(std::uint64_t bytes);
  [[nodiscard]] bool has_huge_pages(std::uint64_t bytes) const noexcept;
  [[nodiscard]] FileDescriptor memory_file(std::uint64_t bytes, bool is_huge) const;
  [[nodiscard]] FileRanges& ranges_for(std::uint64_t bytes, bool is_huge) noexcept;

  std::unordered_map<matcher::SegmentId, Entry> entries_;
  std::optional<HugePageFiles> huge_pages_;
  FileRanges small_;  ///< for segments that are always written as memory
  FileRanges large_;  ///< for segments that may be written as files
  FileRanges huge_;   ///< with huge pages
  FileRanges on_disk_;
  std::unordered_map<std::uint64_t, std::shared_ptr<MappedFile>> neighbours_files_;  ///< by number
  std::unique_ptr<WarmMemory> warm_;
  std::shared_ptr<MappedFile> warm_file_;  ///< shared by its segments
  std::uint64_t warm_number_ = 0;
  std::uint64_t warm_bytes_ = 0;
  std::vector<matcher::SegmentId> destroyed_;
  matcher::SegmentId last_made_ = 0;
  std::string spill_directory_;
  DiskWorker& disk_;
  DiskEvents events_;
  std::unordered_set<matcher::SegmentId> being_made_;
  LogFiles logs_;
};

}  // namespace sluice::runtime
