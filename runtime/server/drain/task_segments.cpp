#include "task_segments.hpp"

namespace sluice::runtime {

std::vector<matcher::SegmentId> name_segments(DrainTask& task, std::uint32_t node) {
  std::vector<matcher::SegmentId> segments;
  for_each_segment(*task.view, [&](const matcher::LogSegment& segment) {
    if (matcher::node_of(segment.segment) != node) return;
    segments.push_back(segment.segment);
    task.segments.push_back({segment.segment, {segment.bytes}, {}});
  });
  return segments;
}

void find_segments(DrainTask& task, const SegmentStore& store) {
  for (OwnedSegment& segment : task.segments) {
    segment.open = store.opener(segment.segment);
    segment.extent = store.extent(segment.segment);
  }
}

}  // namespace sluice::runtime
