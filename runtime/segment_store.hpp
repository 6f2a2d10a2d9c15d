#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// The matcher's segments as memory files, and as files on disk. Data is never touched here; request tables
/// and control blocks are mapped when they are looked at first.
class SegmentStore final : public matcher::SegmentMemory {
 public:
  void create(matcher::SegmentId segment, std::uint64_t bytes) override;
  [[nodiscard]] bool create_spilled(matcher::SegmentId segment, std::uint64_t bytes) override;
  void clear(matcher::SegmentId segment, matcher::SegmentUse use) override;
  void destroy(matcher::SegmentId segment) noexcept override;
  [[nodiscard]] std::span<const std::byte> contents(matcher::SegmentId segment) override;
  void mark_gone(matcher::SegmentId control, std::uint32_t rank) noexcept override;

  /// Where segments on disk are made from now on.
  void set_spill_directory(const std::string& directory) { spill_directory_ = directory; }

  /// A segment of another matcher of this node.
  void adopt(matcher::SegmentId segment, std::uint64_t bytes, FileDescriptor file);
  /// The segment could not be made: its descriptor is refused with NC_ENO_SPACE, its contents are nothing.
  void note_failure(matcher::SegmentId segment);
  [[nodiscard]] bool contains(matcher::SegmentId segment) const { return entries_.contains(segment); }
  /// Whether this matcher has yet to be told to make it; numbers ascend.
  [[nodiscard]] bool is_expected(matcher::SegmentId segment) const noexcept {
    return !matcher::is_spilled(segment) &&
           segment > last_made_;  // those on disk are there when they are named
  }

  /// Tells the group of a control block that a get waits for its puts, or that none does. What was put before
  /// is in the request tables for who looks there behind this call.
  void set_awaited(matcher::SegmentId control, bool is_awaited);

  /// A segment's descriptor, to be sent to those who may map it. Throws Error(NC_EIO) when there is no such
  /// segment.
  [[nodiscard]] int descriptor(matcher::SegmentId segment) const;
  [[nodiscard]] std::uint64_t bytes(matcher::SegmentId segment) const;

  /// The contents, to be written; empty when there is no such segment.
  [[nodiscard]] std::span<std::byte> writable(matcher::SegmentId segment);

  /// The segments destroyed since the last call.
  [[nodiscard]] std::vector<matcher::SegmentId> take_destroyed() noexcept;

 private:
  struct Entry {
    FileDescriptor file;
    std::uint64_t bytes = 0;
    bool is_own = true;
    Mapping mapping = {};
  };
  [[nodiscard]] const Entry& at(matcher::SegmentId segment) const;
  [[nodiscard]] std::span<std::byte> mapped(matcher::SegmentId segment);

  std::unordered_map<matcher::SegmentId, Entry> entries_;
  std::vector<matcher::SegmentId> destroyed_;
  matcher::SegmentId last_made_ = 0;
  std::string spill_directory_;
};

}  // namespace sluice::runtime
