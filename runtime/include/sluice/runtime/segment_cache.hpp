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

/// The segments that this process knows, mapped when they are used first and kept mapped, so that recycled
/// ones are warm; and the files that they are in. Any threads.
class SegmentCache {
 public:
  /// A segment that the matcher named; `file` is its descriptor when one came with it.
  void add(const SegmentGrant& grant, FileDescriptor file);
  /// Maps what is not mapped yet and closes the descriptors, which others need now. What cannot be mapped
  /// keeps its own.
  void map_all() noexcept;
  /// The matcher has taken them back. Who uses one still keeps its mapping until then.
  void drop(std::span<const std::uint64_t> segments);

  /// The mapping, shared by the cache and the logs that use it. A segment that another thread's connection is
  /// about to bring is waited for. Throws Error(NC_EIO) when it does not come.
  [[nodiscard]] std::shared_ptr<const Mapping> mapping(std::uint64_t segment, Mapping::Access access);

  /// A segment; one that is mapped for the first time now together with its file, shared with the cache.
  struct Writable {
    std::shared_ptr<const Mapping> mapping;
    std::shared_ptr<const FileDescriptor> file;
    std::uint64_t file_offset = 0;  ///< of the segment in that file
  };
  [[nodiscard]] Writable writable(std::uint64_t segment);

 private:
  struct Entry {
    std::shared_ptr<MappedFile> file;  ///< shared with other segments; one of its own until it is mapped
    SegmentExtent extent;
    std::shared_ptr<Mapping> mapping;
  };
  [[nodiscard]] Entry& wait_for(std::unique_lock<std::mutex>& lock, std::uint64_t segment);
  static void map(Entry& entry, Mapping::Access access);

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::unordered_map<std::uint64_t, std::shared_ptr<MappedFile>> files_;  ///< by number; shared with entries
};

}  // namespace sluice::runtime
