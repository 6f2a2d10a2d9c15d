#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "sluice/replay/plan.hpp"

namespace sluice::test {

/// Logs of several writers. Each log has segments that are far apart in memory, and no longer than their
/// data.
class SegmentedLog : public replay::LogReader {
 public:
  explicit SegmentedLog(std::size_t segment_bytes) : segment_bytes_(segment_bytes) {}

  /// Appends `size` bytes at the next multiple of `alignment`, not before `least`, within one segment, and
  /// returns their log offset.
  std::uint64_t append(std::uint32_t writer, const void* data, std::size_t size, std::size_t alignment,
                       std::uint64_t least = 0) {
    Log& log = logs_[writer];
    log.used = std::max(log.used, least);
    const std::uint64_t offset = (log.used + alignment - 1) / alignment * alignment;
    if (log.segments.empty() || offset + size > log.segments.rbegin()->first + segment_bytes_)
      log.segments[offset];
    auto& [first, memory] = *log.segments.rbegin();
    memory.resize(offset + size - first);
    std::memcpy(memory.data() + (offset - first), data, size);
    log.used = offset + size;
    return offset;
  }

  std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    ++calls;
    const auto log = logs_.find(writer);
    if (log == logs_.end()) return {};
    auto segment = log->second.segments.upper_bound(log_offset);
    if (segment == log->second.segments.begin()) return {};
    --segment;
    if (log_offset - segment->first >= segment->second.size()) return {};
    return std::span(segment->second).subspan(log_offset - segment->first);
  }

  int calls = 0;

 private:
  struct Log {
    std::uint64_t used = 0;
    std::map<std::uint64_t, std::vector<std::byte>> segments;
  };
  std::size_t segment_bytes_;
  std::map<std::uint32_t, Log> logs_;
};

}  // namespace sluice::test
