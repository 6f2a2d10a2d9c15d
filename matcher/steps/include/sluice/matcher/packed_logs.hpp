#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/segment_runs.hpp"
#include "sluice/matcher/step_pattern.hpp"
#include "sluice/matcher/step_view.hpp"

namespace sluice::matcher {

struct WriteLog;
class BytesByMedium;

/// A log that has closed: its segments, and what its process says at the close.
struct ClosedLog {
  WriteLog& log;
  const LogRanges& ranges;
  const LogExtent& extent;
  const LogPattern& pattern;
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

/// The logs of a step, as bytes: each is packed when it has closed. A step of very many processes then takes
/// little memory at the registry, and its view is there when the last one has closed.
class PackedLogs {
 public:
  /// `packing` outlives this object. `logs`: of the step.
  PackedLogs(const LogPacking& packing, std::size_t logs)
      : packing_(packing), packer_(packing.packer()), patterns_(logs) {}

  /// Takes the segments out of `closed.log`, which is as new then. Not twice for a rank.
  void add(std::uint32_t rank, const ClosedLog& closed);
  /// The number of logs that were added.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// By rank; empty once the step is complete.
  [[nodiscard]] const std::vector<LogPattern>& patterns() const noexcept { return patterns_; }
  /// All `logs` of the step, in the order of the ranks, were added, and there is one at least. Of their
  /// patterns only the time of the last put is kept: for steps that continue this one, its own pattern tells
  /// the rest.
  void complete(std::span<const std::shared_ptr<WriteLog>> logs);
  /// Puts what was added back into the logs, which are in the order of the ranks.
  void restore(std::span<const std::shared_ptr<WriteLog>> logs);

  /// The logs of a complete step, in the order of the ranks.
  [[nodiscard]] std::vector<LogView> views() const;
  /// StepView::packed_logs of a complete step.
  [[nodiscard]] const std::shared_ptr<const std::vector<std::byte>>& view_list() const noexcept {
    return list_;
  }
  void add_bytes(BytesByMedium& sums) const;
  [[nodiscard]] bool has_data_on(std::uint32_t node) const noexcept;
  /// Adds the nodes that have request tables of the logs.
  void add_table_nodes(std::set<std::uint32_t>& nodes) const;

 private:
  /// Logs of successive ranks.
  struct Piece {
    std::uint32_t first = 0;
    std::size_t logs = 0;
    std::vector<std::byte> bytes;  ///< empty while further logs may be added
    SegmentRuns tables;
    SegmentRuns data;
  };
  void end_piece();
  void put_in_order(std::span<const std::shared_ptr<WriteLog>> logs);

  const LogPacking& packing_;
  std::unique_ptr<LogPacker> packer_;  ///< until the step is complete
  std::vector<LogPattern> patterns_;
  std::uint64_t last_put_ = 0;  ///< once the step is complete: the latest of all logs
  std::size_t size_ = 0;
  bool is_piece_open_ = false;  ///< the last one
  std::vector<Piece> pieces_;
  std::shared_ptr<const std::vector<std::byte>> list_;  ///< shared with views of the step
};

}  // namespace sluice::matcher
