#pragma once
#include <cstdint>
#include <vector>

#include "segment_store.hpp"
#include "step_drain.hpp"

namespace sluice::runtime {

/// Calls `visit` for each segment of the step's logs.
void for_each_segment(const matcher::StepView& view, const auto& visit) {
  for (const matcher::LogView& log : view.logs) {
    for (const auto* const of_log : {&log.tables, &log.data}) {
      for (const matcher::LogSegment& segment : *of_log) visit(segment);
    }
  }
}

/// Adds the step's segments on the node to the task, without descriptors. Returns their ids.
[[nodiscard]] std::vector<matcher::SegmentId> name_segments(DrainTask& task, std::uint32_t node);

/// Tells the task how to open its segments, which must be in the store. Opens nothing. Throws the store's
/// errors.
void find_segments(DrainTask& task, const SegmentStore& store);

}  // namespace sluice::runtime
