#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/mapped_file.hpp"
#include "sluice/runtime/protocol.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// The segments that this process knows, and their files. A segment is mapped on its first use and stays
/// mapped, so recycled segments are warm. Any threads.
class SegmentCache {
 public:
  /// Adds a segment that the matcher named. `file` is its descriptor, if one came with the message.
  void add(const SegmentGrant& grant, FileDescriptor file);
  /// Maps all segments that are not mapped yet, and closes their descriptors, because other code needs the
  /// descriptors. A segment that cannot be mapped keeps its descriptor.
  void map_all() noexcept;
  /// The matcher has taken the segments back. A thread that uses a segment keeps its mapping until it is
  /// done.
  void drop(std::span<const std::uint64_t> segments);

  /// Whether the matcher has named the segment to this process.
  [[nodiscard]] bool knows(std::uint64_t segment);
  /// The mapping, shared by the cache and the logs that use it. Waits for a segment that another thread's
  /// connection is about to receive. Throws Error(NC_EIO) when the segment does not come.
  [[nodiscard]] std::shared_ptr<const Mapping> mapping(std::uint64_t segment, Mapping::Access access);

  /// A segment. When the segment is mapped for the first time, its file comes too, shared with the cache; but
  /// not if page faults are cheap: writing through the file would block other writers of that file, and would
  /// save nothing.
  struct Writable {
    std::shared_ptr<const Mapping> mapping;
    std::shared_ptr<const FileDescriptor> file;
    std::uint64_t file_offset = 0;  ///< of the segment in that file
  };
  [[nodiscard]] Writable writable(std::uint64_t segment);

 private:
  struct Entry {
    /// shared with other segments; a separate object until the segment is mapped
    std::shared_ptr<MappedFile> file;
    SegmentExtent extent;
    std::shared_ptr<Mapping> mapping;
    bool has_cheap_faults = false;
  };
  [[nodiscard]] Entry& wait_for(std::unique_lock<std::mutex>& lock, std::uint64_t segment);
  static void map(Entry& entry, Mapping::Access access);

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::unordered_map<std::uint64_t, std::shared_ptr<MappedFile>> files_;  ///< by number; shared with entries
};

}  // namespace sluice::runtime
