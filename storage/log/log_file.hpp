#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A file that this process alone writes from beginning to end, in small pieces. The first ones are plain
/// writes, so that a file that stays small takes no more space than it has data. When much has been written,
/// and the file system allows it, space is reserved in large steps and mapped into memory, so that a piece
/// needs no system call. The written data belongs to the system and survives the death of the process. Zeros
/// may follow the written data until close(). Where another program has cut the file, all functions but the
/// destructor throw IoError(NC_EIO), at the latest before the file grows again.
class LogFile {
 public:
  /// A new file, or one of that size that is continued: a few small writes cost the same however large the
  /// file is.
  explicit LogFile(std::unique_ptr<File> file, std::int64_t size_bytes = 0) noexcept;

  /// Writes bytes. Lack of space is NC_ENO_SPACE, never a signal.
  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes);
  /// Writes a number atomically, after all earlier writes; `offset_bytes` is a multiple of 8.
  void write_number(std::int64_t offset_bytes, std::int64_t value);
  /// Discards the data after `size_bytes`.
  void cut(std::int64_t size_bytes);
  [[nodiscard]] bool try_lock() { return file_->try_lock(); }
  /// Ensures that written data is on storage.
  void sync();
  /// Closes the file with that size.
  void close(std::int64_t size_bytes);

 private:
  void expect_whole(std::int64_t size_bytes) const;
  /// Returns false if the file must be written by system calls.
  bool has_room(std::int64_t end_bytes);

  std::unique_ptr<File> file_;
  std::span<std::byte> memory_;
  std::int64_t written_bytes_ = 0;
  std::int64_t mapped_from_bytes_ = 0;  ///< the size from which on the file is mapped
  bool can_map_ = true;
};

}  // namespace sluice::storage
