#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::storage {

/// Bytes [begin, end) of a file.
struct FileRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] bool is_empty() const noexcept { return end <= begin; }
  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
  [[nodiscard]] bool meets(const FileRange& other) const noexcept {
    return begin < other.end && other.begin < end;
  }
};

/// Elements that are contiguous both in the file and in the buffer of one access.
struct Extent {
  std::int64_t offset_bytes = 0;   ///< in the file
  std::int64_t elements = 0;       ///< at least 1
  std::int64_t first_element = 0;  ///< in the access's buffer
  std::int32_t access = 0;         ///< index in the list of accesses
  std::int32_t element_bytes = 1;

  [[nodiscard]] std::int64_t length_bytes() const noexcept { return elements * element_bytes; }
  [[nodiscard]] std::int64_t end() const noexcept { return offset_bytes + length_bytes(); }
};

/// The part of an extent whose elements begin within a range of the file. Elements are never cut, and each
/// belongs to exactly one of adjacent ranges. Has 0 elements if no element begins in the range.
[[nodiscard]] Extent clip(const Extent& extent, const FileRange& range) noexcept;

/// Calls visit(extent) for the non-empty parts of the extents that begin in the range.
template <class Visit>
void for_each_clipped(std::span<const Extent> extents, const FileRange& range, const Visit& visit) {
  for (const Extent& extent : extents) {
    if (extent.offset_bytes >= range.begin && extent.end() <= range.end) {
      visit(extent);
    } else {
      const Extent part = clip(extent, range);
      if (part.elements > 0) visit(part);
    }
  }
}

/// Calls visit(range) for the ranges that the parts of ascending extents in `range` cover. The ranges include
/// gaps of at most `gap_bytes`.
template <class Visit>
void for_each_covered(std::span<const Extent> extents, const FileRange& range, std::int64_t gap_bytes,
                      const Visit& visit) {
  FileRange covered;
  for_each_clipped(extents, range, [&](const Extent& part) {
    if (covered.is_empty()) {
      covered = {part.offset_bytes, part.end()};
    } else if (part.offset_bytes - covered.end > gap_bytes) {
      visit(covered);
      covered = {part.offset_bytes, part.end()};
    } else {
      // A part that is clipped to its first element may begin after the next one.
      covered = {std::min(covered.begin, part.offset_bytes), std::max(covered.end, part.end())};
    }
  });
  if (!covered.is_empty()) visit(covered);
}

/// Sorts by offset; the sort is stable. Fast for a concatenation of a few sorted lists.
void sort_extents(std::vector<Extent>& extents);

/// Whether any two extents of a sorted list share bytes.
[[nodiscard]] bool has_overlaps(const std::vector<Extent>& sorted) noexcept;

/// Cuts the extents of a sorted list so that none share bytes. Shared bytes go to the later access, and
/// within an access to the later element.
void remove_overlaps(std::vector<Extent>& sorted);

/// Ascending ranges of the file that neither overlap nor touch.
class Coverage {
 public:
  void clear() noexcept {
    ranges_.clear();
    list_begins_.clear();
  }
  /// Starts another ascending list for add().
  void begin_list() { list_begins_.push_back(ranges_.size()); }
  /// Adds a range to the current list, in ascending order of begin; overlaps are allowed.
  void add(const FileRange& range) {
    if (ranges_.size() > list_begins_.back() && range.begin <= ranges_.back().end) {
      if (range.end > ranges_.back().end) ranges_.back().end = range.end;
    } else {
      ranges_.push_back(range);
    }
  }
  /// Returns the union of all lists. Afterwards there is one list.
  [[nodiscard]] const std::vector<FileRange>& join();

 private:
  std::vector<FileRange> ranges_;
  std::vector<std::size_t> list_begins_;
};

}  // namespace sluice::storage
