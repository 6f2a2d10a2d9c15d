#include "step_source.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

MappedSegments::MappedSegments(const std::vector<OwnedSegment>& segments,
                               const std::vector<TableCopy>& tables) {
  std::map<const FileDescriptor*, MappedFile> files;
  std::shared_ptr<const FileDescriptor> log;  // stays open: the next segment is often in it, too
  for (const OwnedSegment& segment : segments) {
    auto file = segment.open();
    if (segment.extent.may_have_name) {  // a mapping needs no descriptor, and there may be very many logs
      mappings_.emplace(segment.segment, Mapping(*file, segment.extent, Mapping::Access::read));
      log = std::move(file);
      continue;
    }
    MappedFile& mapped = files.try_emplace(file.get(), file).first->second;
    mappings_.emplace(segment.segment, mapped.map(segment.extent, Mapping::Access::read));
  }
  for (const TableCopy& table : tables) copies_.emplace(table.segment, table.contents);
}

std::span<const std::byte> MappedSegments::contents(matcher::SegmentId segment) {
  const auto found = mappings_.find(segment);
  if (found != mappings_.end()) return found->second.bytes();
  const auto copy = copies_.find(segment);
  if (copy != copies_.end()) return copy->second;
  throw Error(NC_EIO, "segment " + std::to_string(segment) + " is not on this node");
}

/// The log data in memory. Data of other nodes' logs is undefined.
class StepSource::Logs final : public replay::LogReader {
 public:
  explicit Logs(StepSource& source) noexcept : source_(source) {}

  [[nodiscard]] std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    const matcher::LogRange* const range = source_.range_of(writer, log_offset);
    if (range == nullptr) return {};
    const std::uint64_t skipped = log_offset - range->log_offset;
    if (!source_.segments_.contains(range->segment)) {
      if (source_.remote_ == nullptr) return nothing();
      return source_.brought(range->segment, range->segment_offset + skipped);
    }
    // The range is within the segment: the scan of the tables has checked this.
    return source_.segments_.contents(range->segment)
        .subspan(range->segment_offset + skipped, range->length_bytes - skipped);
  }

  static constexpr std::size_t constant_bytes = 65536;  ///< of whole elements
  static std::span<const std::byte> nothing() noexcept {
    static constexpr std::array<std::byte, constant_bytes> zeros{};
    return zeros;
  }

 private:
  StepSource& source_;
};

/// Gives, for each byte of data, whether the byte is on this node.
class StepSource::MaskLogs final : public replay::LogReader {
 public:
  explicit MaskLogs(StepSource& source) : source_(source), ones_(Logs::constant_bytes, std::byte{0xff}) {}

  [[nodiscard]] std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    const matcher::LogRange* const range = source_.range_of(writer, log_offset);
    if (range == nullptr) return {};
    return source_.segments_.contains(range->segment) ? std::span<const std::byte>(ones_) : Logs::nothing();
  }

 private:
  StepSource& source_;
  std::vector<std::byte> ones_;
};

StepSource::StepSource(const matcher::StepView& view, const Parts& parts)
    : view_(view),
      segments_(parts.segments, parts.tables),
      has_fill_(parts.has_fill),
      shows_all_(parts.shows_all),
      remote_(parts.remote),
      index_(segments_) {
  if (view.header.empty()) return;
  if (!parts.behind.empty()) {
    index_.take_behind(view, parts.behind);
    return;
  }
  index_.set_header(view.header);
  if (shows_all_) index_.expect_newer_memory();
  index_.update(view.logs, !shows_all_,
                shows_all_ ? matcher::Visibility::everything : matcher::Visibility::published);
}

/// Null when the log has no data there.
const matcher::LogRange* StepSource::range_of(std::uint32_t writer, std::uint64_t log_offset) const {
  return matcher::range_at(index_.ranges(writer), log_offset).range;
}

/// The request tables know more records than the writers have reported.
std::int64_t StepSource::record_count() const noexcept {
  const bool is_told_by_tables =
      shows_all_ || (view_.publish_at == matcher::PublishAt::write && view_.is_cut);
  return is_told_by_tables ? std::max(view_.record_count, index_.records_end()) : view_.record_count;
}

bool StepSource::only_adds_records(std::span<const matcher::TablePosition> behind,
                                   std::int64_t first_record) {
  const formats::Header header = formats::decode_metadata(view_.header, view_.name);
  bool adds_only = true;
  const auto look = [&](const matcher::TableEntry& entry, std::span<const std::byte>) {
    const bool is_new = entry.varid >= 0 && entry.varid < header.variable_count() &&
                        header.is_record_variable(entry.varid) && entry.box.start[0] >= first_record &&
                        (entry.box.stride.empty() || entry.box.stride[0] > 0);
    adds_only = adds_only && is_new;
  };
  matcher::TableScan scan(segments_);
  for (std::size_t i = 0; i < view_.logs.size() && adds_only; ++i) {
    if (i < behind.size() && behind[i] == view_.logs[i].published) continue;
    const auto writer = static_cast<std::uint32_t>(i);
    if (i < behind.size()) scan.begin_at(writer, behind[i], all_of(view_.logs[i].ranges));
    scan.read(writer, view_.logs[i], look, matcher::Visibility::published);
  }
  return adds_only;
}

replay::Plan StepSource::plan_of(const Read& read) {
  replay::PlanBuilder builder(formats::size_of(read.header.variable(read.variable).type));
  const matcher::VariableWrites writes = index_.writes(read.source);
  builder.add(formats::HyperslabView{read.start, read.count, {}}, writes.index);
  replay::Plan plan = builder.take();
  replay::move_logs(plan, writes.shifts);
  return plan;
}

namespace {
/// Ranges that are so near to one another come as one.
constexpr std::uint64_t largest_gap_bytes = 64;

std::pair<matcher::SegmentId, std::uint64_t> key_of(const MemoryRange& range) {
  return {range.segment, range.offset};
}
}  // namespace

/// Asks for the data of other nodes that the plan reads.
void StepSource::bring(const replay::Plan& plan, std::size_t element_bytes) {
  std::vector<MemoryRange>& ranges = brought_ranges_;
  ranges.clear();
  brought_at_.clear();
  brought_.clear();
  for (const replay::PlanSource& source : replay::sources_of(plan, element_bytes)) {
    for (std::uint64_t at = source.first; at < source.end;) {
      const auto [range, length] = matcher::range_at(index_.ranges(source.writer), at);
      if (range == nullptr) break;  // the plan's execution tells
      const std::uint64_t skipped = at - range->log_offset;
      const std::uint64_t bytes = std::min(length - skipped, source.end - at);
      if (!segments_.contains(range->segment))
        ranges.push_back({range->segment, range->segment_offset + skipped, bytes});
      at += bytes;
    }
  }
  if (ranges.empty()) return;
  std::ranges::sort(ranges, {}, key_of);
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const std::uint64_t end = ranges[last].offset + ranges[last].bytes;
    if (ranges[i].segment == ranges[last].segment && ranges[i].offset <= end + largest_gap_bytes) {
      ranges[last].bytes = std::max(end, ranges[i].offset + ranges[i].bytes) - ranges[last].offset;
    } else {
      ranges[++last] = ranges[i];
    }
  }
  ranges.resize(last + 1);
  std::uint64_t bytes = 0;
  for (const MemoryRange& range : ranges) {
    brought_at_.push_back(bytes);
    bytes += range.bytes;
  }
  brought_ = remote_->read(ranges);
}

/// What has been brought from there on.
std::span<const std::byte> StepSource::brought(matcher::SegmentId segment, std::uint64_t offset) const {
  const auto next = std::ranges::upper_bound(brought_ranges_, std::pair(segment, offset), {}, key_of);
  const auto found = next == brought_ranges_.begin() ? brought_ranges_.end() : std::prev(next);
  if (found == brought_ranges_.end() || found->segment != segment || offset - found->offset >= found->bytes)
    throw Error(NC_EIO, "segment " + std::to_string(segment) + " is not at hand");
  const std::uint64_t position = brought_at_[static_cast<std::size_t>(found - brought_ranges_.begin())];
  return std::span(brought_).subspan(position, found->bytes).subspan(offset - found->offset);
}

void StepSource::read(const Read& read, void* destination) {
  const formats::Type type = read.header.variable(read.variable).type;
  std::array<std::byte, 8> fill{};
  read.header.fill_value(read.variable, fill.data());
  const replay::Plan plan = plan_of(read);
  if (remote_ != nullptr) bring(plan, formats::size_of(type));
  Logs logs(*this);
  (void)replay::execute(plan, logs, {type, type, false, fill.data()}, destination);
}

StepSource::Share StepSource::share_of(const replay::Plan& plan) const {
  bool has_own = plan.needs_fill && has_fill_;
  bool has_others = plan.needs_fill && !has_fill_;
  for (const replay::Copy& copy : plan.copies) {
    const matcher::LogRange* const range = copy.is_fill ? nullptr : range_of(copy.writer, copy.log_offset);
    const bool is_own = range == nullptr ? has_fill_ : segments_.contains(range->segment);
    (is_own ? has_own : has_others) = true;
  }
  if (!has_others) return Share::everything;
  return has_own ? Share::some : Share::nothing;
}

StepSource::Share StepSource::read_part(const Read& read, void* destination, void* mask) {
  const formats::Type type = read.header.variable(read.variable).type;
  const replay::Plan plan = plan_of(read);
  const Share share = share_of(plan);
  if (share == Share::nothing) return share;
  std::array<std::byte, 8> fill{};
  read.header.fill_value(read.variable, fill.data());
  Logs logs(*this);
  (void)replay::execute(plan, logs, {type, type, false, fill.data()}, destination);
  if (share == Share::everything) return share;
  fill.fill(has_fill_ ? std::byte{0xff} : std::byte{});
  MaskLogs mask_logs(*this);
  (void)replay::execute(plan, mask_logs, {type, type, false, fill.data()}, mask);
  return share;
}

}  // namespace sluice::runtime
