#include "segment_messages.hpp"

#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

void SegmentMessages::send_to_owner(matcher::SegmentId segment, MatcherBody body) {
  outlet_.send_to(nodes_.rank_of(matcher::owner_of(segment)), std::move(body));
}

void SegmentMessages::create(matcher::SegmentId segment, std::uint64_t bytes) {
  outlet_.send(nodes_.rank_of(matcher::owner_of(segment)), CreateSegment{segment, bytes});
}

void SegmentMessages::create_image(matcher::SegmentId segment, std::uint64_t bytes) {
  send_to_owner(segment, CreateSegment{segment, bytes, true});
}

bool SegmentMessages::create_spilled_image(matcher::SegmentId segment, std::uint64_t bytes,
                                           matcher::DiskRoom room) {
  send_to_owner(segment, CreateSegment{segment, bytes, true, room});
  return false;
}

/// The segment's matcher reports later whether the disk had space.
bool SegmentMessages::create_spilled(matcher::SegmentId segment, std::uint64_t bytes,
                                     matcher::DiskRoom room) {
  send_to_owner(segment, CreateSegment{segment, bytes, false, room});
  return false;
}

void SegmentMessages::create_logged(matcher::SegmentId segment, std::uint64_t bytes,
                                    const matcher::LogPlace& place) {
  notes_.logged(place);
  send_to_owner(segment, CreateSegment{segment, bytes, false, place});
}

void SegmentMessages::keep_log(matcher::SegmentId segment, bool is_kept) noexcept {
  send_to_owner(segment, KeepLog{segment, is_kept});
}

void SegmentMessages::clear(matcher::SegmentId segment, matcher::SegmentUse use) {
  if (use != matcher::SegmentUse::data && use != matcher::SegmentUse::file)
    outlet_.send(nodes_.rank_of(matcher::owner_of(segment)), ClearSegment{segment, use});
}

/// Tells all matchers of the node, because processes of each may have the segment mapped. For a segment on
/// disk, its matcher reports when the space has been returned.
bool SegmentMessages::destroy(matcher::SegmentId segment) noexcept {
  if (is_stopped_) return true;
  for (const std::uint32_t matcher : nodes_.matchers_of(matcher::node_of(segment)))
    outlet_.send_to(matcher, DestroySegment{segment});
  return !matcher::is_spilled(segment);
}

void SegmentMessages::drop_warm(matcher::MatcherPlace matcher) noexcept {
  if (!is_stopped_) outlet_.send_to(nodes_.rank_of(matcher), DestroySegment{});
}

std::span<const std::byte> SegmentMessages::contents(matcher::SegmentId segment) {
  throw Error(NC_EIO, "the registry has no access to segment " + std::to_string(segment));
}

void SegmentMessages::mark_gone(matcher::SegmentId control, std::uint32_t rank) noexcept {
  send_to_owner(control, MarkGone{control, rank});
}

}  // namespace sluice::runtime
