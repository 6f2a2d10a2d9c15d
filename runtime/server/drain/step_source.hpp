#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "drain_orders.hpp"
#include "exchange_protocol.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_index.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/replay/plan.hpp"
#include "sluice/runtime/mapped_file.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// A segment of a step's logs. The thread that reads the step opens the file and maps it.
struct OwnedSegment {
  matcher::SegmentId segment = 0;
  SegmentExtent extent;
  MappedFile::Opener open;
};

/// Segments that are mapped here for reading.
class MappedSegments final : public matcher::SegmentMemory {
 public:
  /// `tables`: the tables of other nodes; they must outlive this object. Throws IoError, Error(NC_EIO).
  MappedSegments(const std::vector<OwnedSegment>& segments, const std::vector<TableCopy>& tables);

  [[nodiscard]] bool contains(matcher::SegmentId segment) const { return mappings_.contains(segment); }

  /// Throws Error(NC_EIO) for an unknown segment.
  [[nodiscard]] std::span<const std::byte> contents(matcher::SegmentId segment) override;

 private:
  // Only the owner of the segments calls these.
  void create(matcher::SegmentId, std::uint64_t) override {}
  bool create_spilled(matcher::SegmentId, std::uint64_t, matcher::DiskRoom) override { return false; }
  void clear(matcher::SegmentId, matcher::SegmentUse) override {}
  bool destroy(matcher::SegmentId) noexcept override { return true; }
  void mark_gone(matcher::SegmentId, std::uint32_t) noexcept override {}

  std::map<matcher::SegmentId, Mapping> mappings_;
  std::map<matcher::SegmentId, std::span<const std::byte>> copies_;
};

/// Log data that is not on this node.
class RemoteLogs {
 public:
  virtual ~RemoteLogs() = default;
  /// The bytes of all ranges, side by side; waits for them. Called by the thread that reads the step. Throws
  /// Error when they do not come.
  [[nodiscard]] virtual std::vector<std::byte> read(const std::vector<MemoryRange>& ranges) = 0;
};

/// Reads the elements of a complete step as its readers would: later puts win, and unwritten elements are
/// fill values. Uses only its arguments, so any thread may have one.
class StepSource {
 public:
  /// The data of a step on this node: segments, and copies of the request tables of other nodes. `has_fill`:
  /// unwritten elements belong to this node's part; otherwise to another node's.
  struct Parts {
    const std::vector<OwnedSegment>& segments;
    const std::vector<TableCopy>& tables;
    bool has_fill = true;
    /// Only the entries behind a position of each log are known; empty: all entries.
    std::span<const matcher::TablePosition> behind = {};
    /// For the data of other nodes; null: that is undefined.
    RemoteLogs* remote = nullptr;
    bool shows_all = false;  ///< of a step in progress: what readers do not see yet, too
  };

  /// Reads the request tables. `view` and `parts` must outlive this object. Throws Error(NC_EIO) when they
  /// are damaged.
  StepSource(const matcher::StepView& view, const Parts& parts);

  /// The number of records of the step.
  [[nodiscard]] std::int64_t record_count() const noexcept;

  /// Whether the logs have only records from `first_record` on behind these positions.
  [[nodiscard]] bool only_adds_records(std::span<const matcher::TablePosition> behind,
                                       std::int64_t first_record);

  /// A part of a variable. `variable` in `header` has its type and fill value.
  struct Read {
    const formats::Header& header;
    int variable = 0;
    int source = 0;  ///< the variable's number in the step
    std::span<const std::int64_t> start;
    std::span<const std::int64_t> count;
  };
  /// Reads the elements in the external type, native byte order, row-major. Throws Error(NC_EIO).
  void read(const Read& read, void* destination);

  /// The share of the requested elements that belongs to this node's part.
  enum class Share { nothing, some, everything };
  /// The same when other nodes have parts of the step. Elements of other nodes are undefined in the
  /// destination. `mask`: as many bytes as the destination. With Share::some, the bytes of this node's
  /// elements are not 0, and all others are 0.
  [[nodiscard]] Share read_part(const Read& read, void* destination, void* mask);

 private:
  class Logs;
  class MaskLogs;

  [[nodiscard]] replay::Plan plan_of(const Read& read);
  [[nodiscard]] std::span<const std::byte> brought(matcher::SegmentId segment, std::uint64_t offset) const;
  void bring(const replay::Plan& plan, std::size_t element_bytes);
  [[nodiscard]] const matcher::LogRange* range_of(std::uint32_t writer, std::uint64_t log_offset) const;
  [[nodiscard]] Share share_of(const replay::Plan& plan) const;

  const matcher::StepView& view_;
  MappedSegments segments_;
  bool has_fill_;
  bool shows_all_;
  RemoteLogs* remote_;
  matcher::StepIndex index_;
  /// what the present read needs of other nodes: ranges in ascending order, and their bytes side by side
  std::vector<MemoryRange> brought_ranges_;
  std::vector<std::uint64_t> brought_at_;
  std::vector<std::byte> brought_;
};

}  // namespace sluice::runtime
