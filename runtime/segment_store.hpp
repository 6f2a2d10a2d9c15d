#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// The matcher's segments as memory files. Data is never touched here; request tables and control blocks are
/// mapped when they are looked at first.
class SegmentStore final : public matcher::SegmentMemory {
 public:
  void create(matcher::SegmentId segment, std::uint64_t bytes) override;
  void clear(matcher::SegmentId segment, matcher::SegmentUse use) override;
  void destroy(matcher::SegmentId segment) noexcept override;
  [[nodiscard]] std::span<const std::byte> contents(matcher::SegmentId segment) override;
  void mark_gone(matcher::SegmentId control, std::uint32_t rank) noexcept override;

  /// A segment's descriptor, to be sent to those who may map it. Throws Error(NC_EIO) when there is no such
  /// segment.
  [[nodiscard]] int descriptor(matcher::SegmentId segment) const;
  [[nodiscard]] std::uint64_t bytes(matcher::SegmentId segment) const;

  /// The segments destroyed since the last call.
  [[nodiscard]] std::vector<matcher::SegmentId> take_destroyed() noexcept;

 private:
  struct Entry {
    FileDescriptor file;
    std::uint64_t bytes = 0;
    Mapping mapping;
  };
  [[nodiscard]] const Entry& at(matcher::SegmentId segment) const;
  [[nodiscard]] std::span<std::byte> mapped(matcher::SegmentId segment);

  std::unordered_map<matcher::SegmentId, Entry> entries_;
  std::vector<matcher::SegmentId> destroyed_;
};

}  // namespace sluice::runtime
