#include "file_ranges.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace sluice::runtime {

namespace {

/// The size within the user's limit on file sizes.
std::uint64_t allowed_bytes(std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
  return std::min<std::uint64_t>(bytes, limit.rlim_cur / window_bytes * window_bytes);
}

}  // namespace

FileRanges::FileRanges(Options options) : options_(std::move(options)), files_(options_.files) {
  options_.file_bytes = allowed_bytes(options_.file_bytes);
}

/// Small ranges do not cross the border of a window, and large ranges begin at one.
std::uint64_t FileRanges::place_of(std::uint64_t next, std::uint64_t bytes) noexcept {
  const std::uint64_t left = window_bytes - next % window_bytes;
  return bytes <= left || left == window_bytes ? next : next + left;
}

FileRanges::Range FileRanges::cut(std::uint64_t number, std::uint64_t bytes) {
  Current& current = files_[turn_];
  turn_ = (turn_ + 1) % files_.size();
  std::uint64_t offset = place_of(current.next, bytes);
  if (current.file == nullptr || offset > current.end || bytes > current.end - offset) {
    const std::uint64_t all = std::max(options_.file_bytes, bytes);
    current = {std::make_shared<MappedFile>(options_.make(all)), number, 0, all};
    offset = 0;
  }
  if (options_.reserve) options_.reserve(*current.file->descriptor(), offset, bytes);
  current.next = offset + bytes;
  return {current.file, {bytes, offset, false, current.number}};
}

}  // namespace sluice::runtime
