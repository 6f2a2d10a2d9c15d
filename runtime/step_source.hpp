#pragma once
#include <cstdint>
#include <map>
#include <vector>

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
  std::uint64_t bytes = 0;
  FileDescriptor file;
};

/// Segments as they are mapped here, to be read.
class MappedSegments final : public matcher::SegmentMemory {
 public:
  /// Throws IoError, Error(NC_EIO).
  explicit MappedSegments(const std::vector<OwnedSegment>& segments);

  /// Throws Error(NC_EIO) for a segment that is not among them.
  [[nodiscard]] std::span<const std::byte> contents(matcher::SegmentId segment) override;

 private:
  // Whoever owns the segments does this.
  void create(matcher::SegmentId, std::uint64_t) override {}
  void clear(matcher::SegmentId, matcher::SegmentUse) override {}
  void destroy(matcher::SegmentId) noexcept override {}
  void mark_gone(matcher::SegmentId, std::uint32_t) noexcept override {}

  std::map<matcher::SegmentId, Mapping> mappings_;
};

/// Reads the elements of a complete step as its readers would: later puts win, fill values where nobody has
/// put anything. Needs nothing but its arguments, so any thread may have one.
class StepSource {
 public:
  /// Reads the request tables. `view` outlives this. Throws Error(NC_EIO) when they are damaged.
  StepSource(const matcher::StepView& view, const std::vector<OwnedSegment>& segments);

  /// The number of records of the step.
  [[nodiscard]] std::int64_t record_count() const noexcept;

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

 private:
  class Logs;

  const matcher::StepView& view_;
  MappedSegments segments_;
  matcher::StepIndex index_;
};

}  // namespace sluice::runtime
