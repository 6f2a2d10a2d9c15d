#include "step_source.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

MappedSegments::MappedSegments(const std::vector<OwnedSegment>& segments) {
  for (const OwnedSegment& segment : segments)
    mappings_.emplace(segment.segment, Mapping(segment.file, segment.bytes, Mapping::Access::read));
}

std::span<const std::byte> MappedSegments::contents(matcher::SegmentId segment) {
  const auto found = mappings_.find(segment);
  if (found == mappings_.end()) throw Error(NC_EIO, "segment " + std::to_string(segment) + " is not at hand");
  return found->second.bytes();
}

/// Where the data of all logs is in memory.
class StepSource::Logs final : public replay::LogReader {
 public:
  explicit Logs(StepSource& source) noexcept : source_(source) {}

  [[nodiscard]] std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    const auto ranges = source_.index_.ranges(writer);
    const auto next = std::ranges::upper_bound(ranges, log_offset, {}, &matcher::LogRange::log_offset);
    if (next == ranges.begin()) return {};
    const matcher::LogRange& range = *std::prev(next);
    const std::uint64_t skipped = log_offset - range.log_offset;
    if (skipped >= range.length_bytes) return {};
    // Within the segment: the scan of the tables has seen to that.
    return source_.segments_.contents(range.segment)
        .subspan(range.segment_offset + skipped, range.length_bytes - skipped);
  }

 private:
  StepSource& source_;
};

StepSource::StepSource(const matcher::StepView& view, const std::vector<OwnedSegment>& segments)
    : view_(view), segments_(segments), index_(segments_) {
  if (view.header.empty()) return;
  index_.set_header(view.header);
  index_.update(view.logs, true, matcher::Reach::published);
}

/// Where each put is visible at once, the request tables know more than the writers could tell.
std::int64_t StepSource::record_count() const noexcept {
  const bool is_told_by_tables = view_.publish_at == matcher::PublishAt::write && view_.is_cut;
  return is_told_by_tables ? std::max(view_.record_count, index_.records_end()) : view_.record_count;
}

void StepSource::read(const Read& read, void* destination) {
  const formats::Type type = read.header.variable(read.variable).type;
  std::array<std::byte, 8> fill{};
  read.header.fill_value(read.variable, fill.data());
  replay::PlanBuilder builder(formats::size_of(type));
  builder.add(formats::HyperslabView{read.start, read.count, {}}, index_.writes(read.source));
  Logs logs(*this);
  (void)replay::execute(builder.take(), logs, {type, type, false, fill.data()}, destination);
}

}  // namespace sluice::runtime
