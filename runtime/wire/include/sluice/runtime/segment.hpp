#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Makes a memory file of `bytes` zero bytes, close-on-exec. The file is sealed against resizing, so a
/// process that maps it never gets SIGBUS. Pages are taken when they are touched first. They are huge where
/// the system has huge pages for shared memory on request (shmem_enabled: advise). Throws IoError:
/// NC_ENO_SPACE, NC_ENFILE or NC_EIO.
[[nodiscard]] FileDescriptor create_segment(std::uint64_t bytes);

/// The bytes of a file that a segment covers. The offset is a multiple of the page size.
struct SegmentExtent {
  std::uint64_t bytes = 0;
  std::uint64_t offset_bytes = 0;
  bool may_have_name = false;  ///< the file is a log: other processes can find it by name and truncate it
  /// the file's number, the same in all processes; 0: none, the descriptor comes each time
  std::uint64_t file = 0;
};

/// Whether a file of that size contains the segment, and the segment begins at a page.
[[nodiscard]] bool is_in_file(const SegmentExtent& extent, std::uint64_t file_bytes) noexcept;

/// Throws Error(NC_EIO) unless the file contains the segment and keeps its size. It does when it is sealed
/// against shrinking; or when it belongs to this user and has no name (spill_file.hpp), or the extent allows
/// a name. Returns how many bytes the file has from now on in any case: its size if it is sealed, otherwise
/// 0.
std::uint64_t check_extent(const FileDescriptor& file, const SegmentExtent& extent);

/// Size of the windows through which files with many segments are mapped. Each window begins at a multiple of
/// it.
inline constexpr std::uint64_t window_bytes = std::uint64_t{64} << 20;

/// A mapped part of a file.
class MappedWindow;

/// The shared mapping of a segment. The destructor unmaps it. The descriptor is not needed any more once the
/// mapping exists.
class Mapping {
 public:
  enum class Access { read, read_write };

  Mapping() = default;
  /// Throws as check_extent() does; IoError(NC_ENOMEM) when the address space is full.
  Mapping(const FileDescriptor& file, const SegmentExtent& extent, Access access);
  /// Uses a window that contains the whole segment, and that mappings of other segments may share. The caller
  /// has checked the extent. Throws IoError when the window cannot be made writable.
  Mapping(const SegmentExtent& extent, Access access, std::shared_ptr<MappedWindow> window);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// For read_write mappings only.
  [[nodiscard]] std::span<std::byte> writable() const noexcept;
  [[nodiscard]] Access access() const noexcept { return access_; }
  /// Makes a read mapping writable. Its address and its warm pages stay. Throws IoError.
  void make_writable();

  /// Takes the page faults of a range that is about to be written, all at once, which is cheaper than one by
  /// one. Does nothing for a range that was done before. Best effort.
  void prefault(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// The same for a range that is about to be read. Works in blocks, and checks each block once. Leaves small
  /// ranges alone.
  void prefault_reads(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Notes that the first `bytes` bytes have been touched.
  void note_touched(std::uint64_t bytes) const noexcept;

 private:
  std::shared_ptr<MappedWindow> window_;  ///< shared with the mappings of other segments in it
  std::span<std::byte> bytes_;
  Access access_ = Access::read;
  mutable std::atomic<std::uint64_t> touched_bytes_ = 0;  ///< only saves time, so it need not be exact
  mutable std::atomic<std::uint64_t> read_blocks_ = 0;    ///< prefaulted: a bit for each 64th of the mapping
};

class MappedWindow {
 public:
  /// The window may reach beyond the end of the file. Throws IoError(NC_ENOMEM) when the address space is
  /// full.
  MappedWindow(const FileDescriptor& file, std::uint64_t offset_bytes, std::uint64_t bytes,
               Mapping::Access access);
  ~MappedWindow();
  MappedWindow(const MappedWindow&) = delete;
  MappedWindow& operator=(const MappedWindow&) = delete;

  /// Bytes of the file; empty where the window does not contain them.
  [[nodiscard]] std::span<std::byte> part(std::uint64_t offset_bytes, std::uint64_t bytes) const noexcept;
  /// Makes the whole window writable. Throws IoError.
  void make_writable();

 private:
  std::uint64_t first_ = 0;
  std::span<std::byte> bytes_;
  Mapping::Access access_;
};

}  // namespace sluice::runtime
