#include "staging_window.hpp"

#include <cstring>

namespace sluice::api {
namespace {

/// An element has at most 8 bytes, so up to 7 bytes lie behind the range.
constexpr std::int64_t overhang_bytes = 8;

/// Calls visit(ranges) for groups of neighbours with gaps of at most `gap_bytes` between them.
template <class Visit>
void for_each_group(std::span<const FileRange> ranges, std::int64_t gap_bytes, const Visit& visit) {
  std::size_t first = 0;
  for (std::size_t i = 1; i <= ranges.size(); ++i) {
    if (i < ranges.size() && ranges[i].begin - ranges[i - 1].end <= gap_bytes) continue;
    visit(ranges.subspan(first, i - first));
    first = i;
  }
}

FileRange hull_of(std::span<const FileRange> ranges) noexcept {
  return {ranges.front().begin, ranges.back().end};
}

}  // namespace

std::byte* ByteBuffer::reserve(std::size_t bytes) {
  if (bytes > capacity_) {
    bytes_.reset();
    capacity_ = 0;
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    capacity_ = bytes;
  }
  return bytes_.get();
}

void StagingWindow::move_to(const FileRange& range) {
  bytes_.reserve(static_cast<std::size_t>(range.size() + overhang_bytes));
  range_ = range;
}

void StagingWindow::write(const FileBytes& file, const FileRange& range) const {
  file.write(range.begin, {at(range.begin), static_cast<std::size_t>(range.size())});
}

void StagingWindow::read(const FileBytes& file, const FileRange& range) const {
  file.read(range.begin, {at(range.begin), static_cast<std::size_t>(range.size())});
}

void StagingWindow::write(const FileBytes& file, std::span<const FileRange> ranges, std::int64_t gap_bytes) {
  for_each_group(ranges, gap_bytes, [&](std::span<const FileRange> group) {
    if (group.size() > 1) fill_gaps(file, group);
    write(file, hull_of(group));
  });
}

void StagingWindow::read(const FileBytes& file, std::span<const FileRange> ranges, std::int64_t gap_bytes) {
  for_each_group(ranges, gap_bytes, [&](std::span<const FileRange> group) { read(file, hull_of(group)); });
}

void StagingWindow::fill_gaps(const FileBytes& file, std::span<const FileRange> ranges) {
  const FileRange gaps{ranges.front().end, ranges.back().begin};
  const auto size = static_cast<std::size_t>(gaps.size());
  const std::byte* old_bytes = old_bytes_.reserve(size);
  file.read(gaps.begin, {old_bytes_.data(), size});
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const std::int64_t begin = ranges[i - 1].end;
    std::memcpy(at(begin), old_bytes + (begin - gaps.begin),
                static_cast<std::size_t>(ranges[i].begin - begin));
  }
}

}  // namespace sluice::api
