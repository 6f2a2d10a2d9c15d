#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// A memory file of `bytes` zero bytes, sealed against resizing, so that who maps it can never be hit by
/// SIGBUS. Pages are taken when they are touched first, huge ones where the system has them for shared memory
/// on request (shmem_enabled: advise). Close-on-exec. Throws IoError: NC_ENO_SPACE,
/// NC_ENFILE or NC_EIO.
[[nodiscard]] FileDescriptor create_segment(std::uint64_t bytes);

/// Which bytes of its file a segment is. The offset is a multiple of the page size.
struct SegmentExtent {
  std::uint64_t bytes = 0;
  std::uint64_t offset_bytes = 0;
  bool may_have_name = false;  ///< the file is a log, which others can find and could cut
  std::uint64_t file = 0;  ///< a number that this file has with all processes; 0: none, it is told each time
};

/// Files with many segments are mapped by windows of so many bytes, each beginning at a multiple of them.
inline constexpr std::uint64_t window_bytes = std::uint64_t{64} << 20;

/// A part of a file that is mapped.
class MappedWindow;

/// The shared mapping of a segment, unmapped by the destructor. The descriptor is not needed any more once it
/// exists.
class Mapping {
 public:
  enum class Access { read, read_write };

  Mapping() = default;
  /// Throws Error(NC_EIO) when the file is neither sealed against shrinking nor one of this user that has no
  /// name (spill_file.hpp) or may have one, or is shorter; IoError(NC_ENOMEM) when the address space is full.
  Mapping(const FileDescriptor& file, const SegmentExtent& extent, Access access);
  /// In a window of the file that has all of it, and that other segments' mappings may share. Throws as
  /// above.
  Mapping(const FileDescriptor& file, const SegmentExtent& extent, Access access,
          std::shared_ptr<MappedWindow> window);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Only of a read_write mapping.
  [[nodiscard]] std::span<std::byte> writable() const noexcept;
  [[nodiscard]] Access access() const noexcept { return access_; }
  /// Makes a read mapping a read_write one; its address and its warm pages stay. Throws IoError.
  void make_writable();

  /// Takes the page faults of a range that is about to be written in one go, which is cheaper than one by
  /// one; does nothing where that was done before. Best effort.
  void prefault(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// The same for a range that is about to be read, by blocks of which each is looked at once. Small ranges
  /// are left alone.
  void prefault_reads(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// The first `bytes` bytes have been touched.
  void note_touched(std::uint64_t bytes) const noexcept;

 private:
  std::shared_ptr<MappedWindow> window_;  ///< shared with the mappings of other segments in it
  std::span<std::byte> bytes_;
  Access access_ = Access::read;
  mutable std::atomic<std::uint64_t> touched_bytes_ = 0;  ///< a saving only: it need not be exact
  mutable std::atomic<std::uint64_t> read_blocks_ = 0;    ///< prefaulted: a bit for each 64th of the mapping
};

class MappedWindow {
 public:
  /// It may reach beyond the end of the file. Throws IoError(NC_ENOMEM) when the address space is full.
  MappedWindow(const FileDescriptor& file, std::uint64_t offset_bytes, std::uint64_t bytes,
               Mapping::Access access);
  ~MappedWindow();
  MappedWindow(const MappedWindow&) = delete;
  MappedWindow& operator=(const MappedWindow&) = delete;

  /// Bytes of the file; empty where the window does not have them.
  [[nodiscard]] std::span<std::byte> part(std::uint64_t offset_bytes, std::uint64_t bytes) const noexcept;
  /// The whole of it becomes writable. Throws IoError.
  void make_writable();

 private:
  std::uint64_t first_ = 0;
  std::span<std::byte> bytes_;
  Mapping::Access access_;
};

}  // namespace sluice::runtime
