#pragma once
#include <atomic>
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

/// Logs of data from other nodes have writer numbers from here on.
inline constexpr std::uint32_t first_inbound_log = 1U << 30;

/// The positions of one step's log data in this process: the ranges from the matcher, in mapped segments. All
/// users of the step in this process share the map, because the matcher sends each range once on a
/// connection. The session adds the ranges of an answer before another thread can use the connection. A
/// thread that has an answer therefore finds all ranges that it needs.
class LogRangeMap {
 public:
  explicit LogRangeMap(SegmentCache& segments) : segments_(segments) {}

  /// Throws Error(NC_EIO) for a range beyond its segment. A range that cannot be mapped now is tried again in
  /// the next call, because the matcher sends each range only once.
  void add(std::span<const LogRange> ranges);

  /// A writer of the step in this process knows of `records` records. Readers of the step in this process see
  /// them, too.
  void raise_record_count(std::int64_t records) noexcept;
  [[nodiscard]] std::int64_t record_count() const noexcept { return record_count_.load(); }

 private:
  struct Range {
    std::uint64_t log_offset = 0;
    std::span<const std::byte> bytes;
    std::shared_ptr<const Mapping> mapping;  ///< shared with the cache: keeps `bytes` valid
  };
  [[nodiscard]] static std::uint64_t size_of(const Range& range) noexcept { return range.bytes.size(); }
  /// By writer (numbers of inbound logs are large): ascending, distinct log offsets.
  using Ranges = std::unordered_map<std::uint32_t, std::vector<Range>>;

 public:
  /// Reads logs for the execution of a plan. A reader sees the ranges that were known when it was made.
  /// Several readers may work at the same time, while other threads add ranges.
  class Reader final : public replay::LogReader {
   public:
    explicit Reader(LogRangeMap& logs);
    ~Reader() override;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// The result is valid as long as the reader. Throws Error(NC_EIO) for an unknown range.
    [[nodiscard]] std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override;
    /// Whether all of log offsets [first, end) are known.
    [[nodiscard]] bool holds(std::uint32_t writer, std::uint64_t first, std::uint64_t end) const;
    /// Most of log offsets [first, end) are about to be read: takes their page faults all at once.
    void prefault(std::uint32_t writer, std::uint64_t first, std::uint64_t end) const;

   private:
    /// The part of the range that holds the offset, up to the next range; empty when there is none.
    struct Found {
      std::uint64_t first = 0;  ///< log offset
      std::span<const std::byte> bytes;
      const Range* range = nullptr;
    };
    [[nodiscard]] Found find(std::uint32_t writer, std::uint64_t log_offset) const;

    LogRangeMap& logs_;
    std::shared_ptr<const Ranges> ranges_;  ///< shared with the map
    std::uint32_t last_writer_ = 0;
    Found last_;  ///< the last used range
  };

 private:
  void add_mapped(const LogRange& range);

  SegmentCache& segments_;
  std::atomic<std::int64_t> record_count_ = 0;
  std::mutex mutex_;                  ///< protects the following members
  std::vector<LogRange> not_mapped_;  ///< received, but not yet in `ranges_`
  /// Readers take and return a share of it under the mutex. It is changed in place only while there is no
  /// reader.
  std::shared_ptr<Ranges> ranges_ = std::make_shared<Ranges>();
};

}  // namespace sluice::runtime
