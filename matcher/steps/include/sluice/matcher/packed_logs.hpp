#pragma once
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "sluice/matcher/client_requests.hpp"
#include "sluice/matcher/expect.hpp"
#include "sluice/matcher/segment_runs.hpp"
#include "sluice/matcher/step_pattern.hpp"
#include "sluice/matcher/step_view.hpp"

namespace sluice::matcher {

struct WriteLog;
class BytesByMedium;

/// A log that has closed: its segments, and what its process says at the close. It continues no other log.
struct ClosedLog {
  LogView::Segments tables;
  LogView::Segments data;
  const LogRanges& ranges;
  const LogExtent& extent;
  TablePosition end;
};

/// Writes the views of logs as bytes, one after the other. Those of processes that follow one another are
/// much alike, so each takes a few bytes. The bytes of two packers may be put together.
class LogPacker {
 public:
  virtual ~LogPacker() = default;
  virtual void add(const ClosedLog& log) = 0;
  /// What was added since the last call.
  [[nodiscard]] virtual std::vector<std::byte> take() = 0;
};

/// How logs are packed.
class LogPacking {
 public:
  virtual ~LogPacking() = default;
  [[nodiscard]] virtual std::unique_ptr<LogPacker> packer() const = 0;
  /// The bytes of so many logs, as StepView::packed_logs has them.
  [[nodiscard]] virtual std::vector<std::byte> as_list(std::size_t logs,
                                                       std::span<const std::byte> views) const = 0;
  /// Reads as_list(). Throws Error(NC_EIO) when the bytes are damaged.
  [[nodiscard]] virtual std::vector<LogView> views(std::span<const std::byte> list) const = 0;
};

/// The logs of a step of very many processes, in the order of the ranks. Of a log that is written there are
/// only the segments. When it has closed, it is packed as bytes. So the step takes little memory, and its
/// view is there when the last log has closed.
class PackedLogs {
 public:
  /// `packing` outlives this object. `logs`: of the step.
  PackedLogs(const LogPacking& packing, std::size_t logs)
      : packing_(packing), packer_(packing.packer()), size_(logs), open_(logs), patterns_(logs) {}

  // Until complete().

  /// The process of the rank has asked for the segment, and gets it. The lease that is returned is valid
  /// until the next call.
  const SegmentLease& grant(std::uint32_t rank, const SegmentRequest& request, SegmentLease&& segment);
  /// The log is looked at soon: brings it into the cache.
  void expect(std::uint32_t rank) const noexcept {
    if (rank < open_.size()) expect_value(&open_[rank]);
  }
  /// Whether the range is inside one of the data segments of the log.
  [[nodiscard]] bool holds(std::uint32_t rank, const LogRange& range) const noexcept;
  /// The process has closed. Memory that it has not used no longer counts, as in WriteLog::trim(). Not twice
  /// for a rank.
  void close(std::uint32_t rank, const PublishRequest& request);
  [[nodiscard]] bool have_all_closed() const noexcept { return closed_ == size_; }
  /// By rank.
  [[nodiscard]] const std::vector<LogPattern>& patterns() const noexcept { return patterns_; }
  /// All have closed, and there is one at least. Of their patterns only the time of the last put is kept: for
  /// steps that continue this one, its own pattern tells the rest.
  void complete();

  // At any time.

  [[nodiscard]] bool is_complete() const noexcept { return list_ != nullptr; }
  /// The logs, which are not packed any more.
  [[nodiscard]] std::vector<std::shared_ptr<WriteLog>> unpack();
  void add_bytes(BytesByMedium& sums) const;
  [[nodiscard]] bool has_data_on(std::uint32_t node) const noexcept;
  /// Adds the nodes that have request tables of the logs.
  void add_table_nodes(std::set<std::uint32_t>& nodes) const;

  // After complete().

  [[nodiscard]] std::vector<LogView> views() const;
  /// StepView::packed_logs.
  [[nodiscard]] const std::shared_ptr<const std::vector<std::byte>>& view_list() const noexcept {
    return list_;
  }

 private:
  /// A log that has not closed.
  struct OpenLog {
    using Segments = boost::container::small_vector<SegmentLease, 1>;
    Segments tables;
    Segments data;
    SegmentId ahead = 0;  ///< WriteLog::ahead

    OpenLog() = default;
    OpenLog(OpenLog&& other) = default;  // leases are not copied
  };
  /// Closed logs of successive ranks.
  struct Piece {
    std::uint32_t first = 0;
    std::size_t logs = 0;
    std::vector<std::byte> bytes;  ///< empty while further logs may be added
    SegmentRuns tables;
    SegmentRuns data;
  };
  static void trim(OpenLog& log, const LogRanges& ranges, const TablePosition& end) noexcept;
  void pack(std::uint32_t rank, const LogRanges& ranges, const LogExtent& extent, const TablePosition& end);
  void end_piece();
  template <class Take>
  void open_again(const Take& take);
  void put_in_order();

  const LogPacking& packing_;
  std::unique_ptr<LogPacker> packer_;  ///< until the step is complete
  std::size_t size_;
  std::size_t closed_ = 0;
  std::vector<OpenLog> open_;         ///< by rank, the closed ones are empty; none once the step is complete
  std::vector<LogPattern> patterns_;  ///< by rank; none once the step is complete
  std::uint64_t last_put_ = 0;        ///< once the step is complete: the latest of all logs
  bool is_piece_open_ = false;        ///< the last one
  std::vector<Piece> pieces_;
  std::shared_ptr<const std::vector<std::byte>> list_;  ///< shared with views of the step
};

}  // namespace sluice::matcher
