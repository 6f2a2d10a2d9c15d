#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "relay_protocol.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_index.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/replay/plan.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// A segment of a step's logs, to be mapped by who has the descriptor.
struct OwnedSegment {
  matcher::SegmentId segment = 0;
  SegmentExtent extent;
  std::shared_ptr<const FileDescriptor> file;  ///< shared with the store of segments
};

/// Segments as they are mapped here, to be read.
class MappedSegments final : public matcher::SegmentMemory {
 public:
  /// `tables`: those of other nodes; outlive this. Throws IoError, Error(NC_EIO).
  MappedSegments(const std::vector<OwnedSegment>& segments, const std::vector<TableCopy>& tables);

  [[nodiscard]] bool contains(matcher::SegmentId segment) const { return mappings_.contains(segment); }

  /// Throws Error(NC_EIO) for a segment that is not among them.
  [[nodiscard]] std::span<const std::byte> contents(matcher::SegmentId segment) override;

 private:
  // Whoever owns the segments does this.
  void create(matcher::SegmentId, std::uint64_t) override {}
  bool create_spilled(matcher::SegmentId, std::uint64_t) override { return false; }
  void clear(matcher::SegmentId, matcher::SegmentUse) override {}
  bool destroy(matcher::SegmentId) noexcept override { return true; }
  void mark_gone(matcher::SegmentId, std::uint32_t) noexcept override {}

  std::map<matcher::SegmentId, Mapping> mappings_;
  std::map<matcher::SegmentId, std::span<const std::byte>> copies_;
};

/// Reads the elements of a complete step as its readers would: later puts win, fill values where nobody has
/// put anything. Needs nothing but its arguments, so any thread may have one.
class StepSource {
 public:
  /// What there is of a step here: segments, and copies of the request tables of other nodes. What has been
  /// put to no element is this node's part, or another's.
  struct Parts {
    const std::vector<OwnedSegment>& segments;
    const std::vector<TableCopy>& tables;
    bool has_fill = true;
    /// Only what is behind a position of each log is known; none: everything.
    std::span<const matcher::TablePosition> behind = {};
  };

  /// Reads the request tables. `view` and `parts` outlive this. Throws Error(NC_EIO) when they are damaged.
  StepSource(const matcher::StepView& view, const Parts& parts);

  /// The number of records of the step.
  [[nodiscard]] std::int64_t record_count() const noexcept;

  /// Whether the logs have nothing behind these positions but records from `first_record` on.
  [[nodiscard]] bool only_adds_records(std::span<const matcher::TablePosition> behind,
                                       std::int64_t first_record);

  /// A part of a variable, whose type and fill value are those of `variable` in `header`.
  struct Read {
    const formats::Header& header;
    int variable = 0;
    int source = 0;  ///< the variable's number in the step
    std::span<const std::int64_t> start;
    std::span<const std::int64_t> count;
  };
  /// Its elements in the external type, native byte order, row-major. Throws Error(NC_EIO).
  void read(const Read& read, void* destination);

  /// How much of what was asked for is this node's part.
  enum class Share { nothing, some, everything };
  /// The same where others have parts of the step. The others' elements are undefined in the destination.
  /// `mask`: room for as many bytes; where only some elements are of this node's part, their bytes there are
  /// not 0, and others' are.
  [[nodiscard]] Share read_part(const Read& read, void* destination, void* mask);

 private:
  class Logs;
  class MaskLogs;

  [[nodiscard]] replay::Plan plan_of(const Read& read);
  [[nodiscard]] const matcher::LogRange* range_of(std::uint32_t writer, std::uint64_t log_offset) const;
  [[nodiscard]] Share share_of(const replay::Plan& plan) const;

  const matcher::StepView& view_;
  MappedSegments segments_;
  bool has_fill_;
  matcher::StepIndex index_;
};

}  // namespace sluice::runtime
