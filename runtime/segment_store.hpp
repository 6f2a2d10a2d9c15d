#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "file_ranges.hpp"
#include "log_files.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/huge_page_files.hpp"
#include "sluice/runtime/segment.hpp"
#include "warm_memory.hpp"

namespace sluice::runtime {

/// The matcher's segments as memory files, and as files on disk. Data is never touched here; request tables
/// and control blocks are mapped when they are looked at first.
class SegmentStore final : public matcher::SegmentMemory {
 public:
  SegmentStore();
  void create(matcher::SegmentId segment, std::uint64_t bytes) override;
  [[nodiscard]] bool create_spilled(matcher::SegmentId segment, std::uint64_t bytes) override;
  void create_logged(matcher::SegmentId segment, std::uint64_t bytes,
                     const matcher::LogPlace& place) override;
  void keep_log(matcher::SegmentId segment, bool is_kept) noexcept override;
  void clear(matcher::SegmentId segment, matcher::SegmentUse use) override;
  bool destroy(matcher::SegmentId segment) noexcept override;
  void drop_warm() noexcept;
  [[nodiscard]] std::span<const std::byte> contents(matcher::SegmentId segment) override;
  void mark_gone(matcher::SegmentId control, std::uint32_t rank) noexcept override;

  /// The run ends well: what is in logs that are not kept has reached its files. Without this all logs keep
  /// their names.
  void remove_logs() noexcept { logs_.remove_all(); }

  /// Where segments on disk are made from now on. `can_punch`: its file system gives ranges of a file back;
  /// else each segment has a file of its own.
  void set_spill_directory(const std::string& directory, bool can_punch = true);
  [[nodiscard]] const std::string& spill_directory() const noexcept { return spill_directory_; }

  /// Segments of a huge page and more are made there from now on.
  void use_huge_pages(HugePageFiles files) { huge_pages_ = std::move(files); }
  [[nodiscard]] bool uses_huge_pages() const noexcept { return huge_pages_.has_value(); }

  /// Begins to make memory ahead, for the segments to come; 0: none. Throws as create_segment(), and
  /// std::system_error when there is no thread to be had.
  void prewarm(std::uint64_t bytes);
  /// Made ahead, and given out when it was ready; 0 / 0: nothing is made ahead.
  struct WarmUse {
    std::uint64_t made_bytes = 0;
    std::uint64_t used_bytes = 0;
  };
  [[nodiscard]] WarmUse warm_use() const noexcept;

  /// A segment of another matcher of this node. `file`: empty where the file is known by its number. Throws
  /// Error(NC_EIO) when it is not.
  void adopt(matcher::SegmentId segment, const SegmentExtent& extent, FileDescriptor file,
             bool has_cheap_faults = false);
  /// The segment could not be made: its descriptor is refused with NC_ENO_SPACE, its contents are nothing.
  void note_failure(matcher::SegmentId segment);
  [[nodiscard]] bool contains(matcher::SegmentId segment) const { return entries_.contains(segment); }
  /// Whether this matcher has yet to be told to make it; numbers ascend.
  [[nodiscard]] bool is_expected(matcher::SegmentId segment) const noexcept {
    return !matcher::is_spilled(segment) &&
           segment > last_made_;  // those on disk are there when they are named
  }

  /// Tells the group of a control block that a get waits for its puts, or that none does. What was put before
  /// is in the request tables for who looks there behind this call.
  void set_awaited(matcher::SegmentId control, bool is_awaited);

  /// The descriptor of a segment's file, to be sent to those who may map it; shared. Throws Error(NC_EIO)
  /// when there is no such segment.
  [[nodiscard]] std::shared_ptr<const FileDescriptor> descriptor(matcher::SegmentId segment) const;
  [[nodiscard]] SegmentExtent extent(matcher::SegmentId segment) const;
  /// Whether its page faults cost little even when it is used first: its pages were made ahead, or are huge.
  [[nodiscard]] bool has_cheap_faults(matcher::SegmentId segment) const {
    return at(segment).has_cheap_faults;
  }

  /// The contents, to be written; empty when there is no such segment.
  [[nodiscard]] std::span<std::byte> writable(matcher::SegmentId segment);

  /// Its memory stays mapped here as long as the result lives, also when the segment has been destroyed.
  /// Throws as contents().
  [[nodiscard]] std::shared_ptr<const void> keep_mapped(matcher::SegmentId segment);

  /// The segments destroyed since the last call.
  [[nodiscard]] std::vector<matcher::SegmentId> take_destroyed() noexcept;

 private:
  struct Entry {
    std::shared_ptr<MappedFile> file;  ///< shared by the segments in it; null: it could not be made
    SegmentExtent extent;
    bool is_own = true;
    bool has_cheap_faults = false;
    std::shared_ptr<Mapping> mapping = {};  ///< shared with those that keep it mapped
  };
  [[nodiscard]] const Entry& at(matcher::SegmentId segment) const;
  [[nodiscard]] std::span<std::byte> mapped(matcher::SegmentId segment);

  [[nodiscard]] std::optional<WarmMemory::Range> cut_warm(std::uint64_t bytes);
  [[nodiscard]] bool has_huge_pages(std::uint64_t bytes) const noexcept;
  [[nodiscard]] FileDescriptor memory_file(std::uint64_t bytes, bool is_huge) const;
  [[nodiscard]] FileRanges& ranges_for(std::uint64_t bytes, bool is_huge) noexcept;

  std::unordered_map<matcher::SegmentId, Entry> entries_;
  std::optional<HugePageFiles> huge_pages_;
  FileRanges small_;  ///< segments that are always written as memory
  FileRanges large_;  ///< those that may be written as files
  FileRanges huge_;   ///< with huge pages
  FileRanges on_disk_;
  std::unordered_map<std::uint64_t, std::shared_ptr<MappedFile>> neighbours_files_;  ///< by their numbers
  std::unique_ptr<WarmMemory> warm_;
  std::shared_ptr<MappedFile> warm_file_;  ///< shared by its segments
  std::uint64_t warm_number_ = 0;
  std::uint64_t warm_bytes_ = 0;
  std::vector<matcher::SegmentId> destroyed_;
  matcher::SegmentId last_made_ = 0;
  std::string spill_directory_;
  LogFiles logs_;
};

}  // namespace sluice::runtime
