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

/// Memory that is made ahead. A thread of low priority takes the pages of one memory file from the system,
/// one after the other, while components start. Segments are cut from the beginning of the file, where the
/// thread goes on behind them; those of which less than an eighth is warm yet, from its
/// cold end.
class WarmMemory {
 public:
  /// `file`: a memory file of `bytes` without pages. Throws std::system_error when no thread can be started.
  WarmMemory(FileDescriptor file, std::uint64_t bytes);
  /// Waits for the thread, which finishes at most a few pages.
  ~WarmMemory();
  WarmMemory(const WarmMemory&) = delete;
  WarmMemory& operator=(const WarmMemory&) = delete;

  /// A range of the file for one user.
  struct Range {
    SegmentExtent extent;
    bool is_warm = false;  ///< the whole
  };
  /// `bytes`: a multiple of the page size. Returns nothing when less is left.
  [[nodiscard]] std::optional<Range> cut(std::uint64_t bytes);
  /// Returns the remaining memory to the system.
  void drop() noexcept;
  /// Waits until the thread has finished: all remaining memory is warm, or the system had no memory.
  void wait() const;

  /// Whether the system needs several times as long to provide a page as to clear it. Memory that is not made
  /// ahead should then be as small as possible. This happens on a virtual machine whose host takes back free
  /// memory.
  [[nodiscard]] bool is_costly() const noexcept { return is_costly_.load(std::memory_order_relaxed); }

  [[nodiscard]] const std::shared_ptr<const FileDescriptor>& file() const noexcept { return file_; }
  /// Bytes that can be cut warm.
  [[nodiscard]] std::uint64_t warm_bytes() const;
  /// Bytes that were cut while they were warm.
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return used_bytes_; }

 private:
  void work();
  void settle(std::unique_lock<std::mutex>& lock);

  std::shared_ptr<const FileDescriptor> file_;  ///< shared by the users that map it
  mutable std::mutex mutex_;                    ///< protects the following members; never held for long
  mutable std::condition_variable has_moved_;
  std::uint64_t first_ = 0;     ///< memory before it was cut
  std::uint64_t end_ = 0;       ///< memory from it on was cut
  std::uint64_t warm_end_ = 0;  ///< pages before it are warm
  SegmentExtent busy_;          ///< pages that are being made
  bool is_done_ = false;        ///< the thread has finished
  std::uint64_t used_bytes_ = 0;
  std::atomic<bool> is_costly_ = false;
  std::thread thread_;
};

}  // namespace sluice::runtime
