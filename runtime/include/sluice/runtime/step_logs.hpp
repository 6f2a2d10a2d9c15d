#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "sluice/replay/plan.hpp"
#include "sluice/runtime/protocol.hpp"
#include "sluice/runtime/segment_cache.hpp"

namespace sluice::runtime {

/// Logs of data that was brought from other nodes have writer numbers from here on.
inline constexpr std::uint32_t first_landing_log = 1U << 30;

/// Where the data of one step's write logs is in this process: the ranges that the matcher told, over mapped
/// segments. Shared by all that have the step open in this process, because the matcher tells each range to a
/// process once.
class StepLogs {
 public:
  explicit StepLogs(SegmentCache& segments) noexcept : segments_(segments) {}

  /// Throws Error(NC_EIO) for a range that its segment does not hold. What cannot be mapped now is tried
  /// again by the next call: the matcher tells each range once.
  void add(std::span<const LogRange> ranges);

  /// Who writes the step in this process knows of so many records: for those who read it here meanwhile.
  void raise_record_count(std::int64_t records) noexcept;
  [[nodiscard]] std::int64_t record_count() const noexcept { return record_count_.load(); }

  /// Reads for a plan's execution; holds the lock meanwhile.
  class Reader final : public replay::LogReader {
   public:
    explicit Reader(StepLogs& logs) : logs_(logs), lock_(logs.mutex_) {}
    [[nodiscard]] std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override;
    /// Whether all of log offsets [first, end) are known.
    [[nodiscard]] bool holds(std::uint32_t writer, std::uint64_t first, std::uint64_t end);
    /// Log offsets [first, end) are about to be read, most of them: takes their page faults in one go.
    void prefault(std::uint32_t writer, std::uint64_t first, std::uint64_t end);

   private:
    StepLogs& logs_;
    std::unique_lock<std::mutex> lock_;
    std::uint32_t last_writer_ = 0;
    std::uint64_t last_first_ = 0;  ///< where the range begins that was used last
    std::span<const std::byte> last_;
  };

 private:
  struct Range {
    std::uint64_t log_offset = 0;
    std::span<const std::byte> bytes;
    std::shared_ptr<const Mapping> mapping;  ///< shared with the cache: keeps `bytes` valid
  };
  /// The range that holds the offset, as far as the next one does not take over; without bytes where there
  /// is none.
  struct Found {
    std::uint64_t first = 0;  ///< log offset
    std::span<const std::byte> bytes;
    const Range* range = nullptr;
  };
  void add_mapped(const LogRange& range);
  [[nodiscard]] Found find(std::uint32_t writer, std::uint64_t log_offset) const noexcept;

  SegmentCache& segments_;
  std::atomic<std::int64_t> record_count_ = 0;
  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<LogRange> not_mapped_;  ///< told, and not in `by_writer_` yet
  /// By writer (of landing logs the numbers are large): ascending, distinct log offsets.
  std::unordered_map<std::uint32_t, std::vector<Range>> by_writer_;
};

}  // namespace sluice::runtime
