#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// A memory file of `bytes` zero bytes, sealed against resizing, so that who maps it can never be hit by
/// SIGBUS. Pages are taken when they are touched first, huge ones where the system has them for shared memory
/// on request (shmem_enabled: advise). Close-on-exec. Throws IoError: NC_ENO_SPACE,
/// NC_ENFILE or NC_EIO.
[[nodiscard]] FileDescriptor create_segment(std::uint64_t bytes);

/// Another descriptor of the same file, close-on-exec. Throws IoError.
[[nodiscard]] FileDescriptor duplicate(int descriptor);

/// Which bytes of its file a segment is. The offset is a multiple of the page size.
struct SegmentExtent {
  std::uint64_t bytes = 0;
  std::uint64_t offset_bytes = 0;
  bool may_have_name = false;  ///< the file is a log, which others can find and could cut
};

/// The shared mapping of a segment, unmapped by the destructor. The descriptor is not needed any more once it
/// exists.
class Mapping {
 public:
  enum class Access { read, read_write };

  Mapping() = default;
  /// Throws Error(NC_EIO) when the file is neither sealed against shrinking nor one of this user that has no
  /// name (spill_file.hpp) or may have one, or is shorter; IoError(NC_ENOMEM) when the address space is full.
  Mapping(const FileDescriptor& file, const SegmentExtent& extent, Access access);
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
  void unmap() noexcept;

  std::span<std::byte> bytes_;
  Access access_ = Access::read;
  mutable std::atomic<std::uint64_t> touched_bytes_ = 0;  ///< a saving only: it need not be exact
  mutable std::atomic<std::uint64_t> read_blocks_ = 0;    ///< prefaulted: a bit for each 64th of the mapping
};

}  // namespace sluice::runtime
