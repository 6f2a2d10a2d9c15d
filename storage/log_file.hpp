#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A file that is written from its beginning to its end, in small pieces, by this process alone. Where the
/// file system allows it, room is taken in large steps and written to through memory: no system call a piece,
/// and still what was written is the system's, not the process's, when that dies. Behind what was written are
/// zeros then, up to close().
class LogFile {
 public:
  explicit LogFile(std::unique_ptr<File> file) noexcept : file_(std::move(file)) {}

  /// NC_ENO_SPACE where there is no room: never a signal.
  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes);
  /// All of the number or nothing, after everything that was written before; its place is a multiple of 8.
  void write_number(std::int64_t offset_bytes, std::int64_t value);
  /// Forgets what is behind `size_bytes`.
  void cut(std::int64_t size_bytes);
  [[nodiscard]] bool try_lock() { return file_->try_lock(); }
  /// What was written is on storage.
  void sync();
  /// Leaves a file of that size.
  void close(std::int64_t size_bytes);

 private:
  /// False where the file has to be written by system calls.
  bool has_room(std::int64_t end_bytes);

  std::unique_ptr<File> file_;
  std::span<std::byte> memory_;
  std::int64_t written_bytes_ = 0;
  bool can_map_ = true;
};

}  // namespace sluice::storage
