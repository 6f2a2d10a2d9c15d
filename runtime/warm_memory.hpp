#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// Memory that is made ahead: one memory file, whose pages a thread of low priority takes from the system one
/// after the other, while components are being started. Segments are cut off its beginning, where it is warm;
/// what is needed sooner than that is cut off its end, and is as cold as any other.
class WarmMemory {
 public:
  /// `file`: a memory file of `bytes`, whose pages are not there yet. Throws std::system_error when there is
  /// no thread to be had.
  WarmMemory(FileDescriptor file, std::uint64_t bytes);
  /// Waits for the thread, which is at no more than a few pages.
  ~WarmMemory();
  WarmMemory(const WarmMemory&) = delete;
  WarmMemory& operator=(const WarmMemory&) = delete;

  /// A range of the file that is nobody else's.
  struct Range {
    SegmentExtent extent;
    bool is_warm = false;
  };
  /// `bytes`: a multiple of the page size. Nothing when less is left.
  [[nodiscard]] std::optional<Range> cut(std::uint64_t bytes);
  /// Gives back to the system what is left.
  void drop() noexcept;
  /// Waits until no more is made: all that is left is warm, or the system had no memory.
  void wait() const;

  /// Whether the system takes so long for pages that those which are not made ahead had better be as small as
  /// can be: several times as long as to clear them. Of a virtual machine whose host takes back what is free.
  [[nodiscard]] bool is_costly() const noexcept { return is_costly_.load(std::memory_order_relaxed); }

  [[nodiscard]] const std::shared_ptr<const FileDescriptor>& file() const noexcept { return file_; }
  /// What was cut off while it was warm.
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return used_bytes_; }

 private:
  void work();
  void settle(std::unique_lock<std::mutex>& lock);

  std::shared_ptr<const FileDescriptor> file_;  ///< shared by those who map it
  mutable std::mutex mutex_;                    ///< of what follows; never held for long
  mutable std::condition_variable has_moved_;
  std::uint64_t first_ = 0;     ///< what is before it was cut off
  std::uint64_t end_ = 0;       ///< and what is behind it
  std::uint64_t warm_end_ = 0;  ///< pages before it are there
  std::uint64_t busy_end_ = 0;  ///< those between `warm_end_` and this are being made
  bool is_done_ = false;        ///< the thread makes no more
  std::uint64_t used_bytes_ = 0;
  std::atomic<bool> is_costly_ = false;
  std::thread thread_;
};

}  // namespace sluice::runtime
