#include "step_source.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/mapped_file.hpp"

namespace sluice::runtime {

MappedSegments::MappedSegments(const std::vector<OwnedSegment>& segments,
                               const std::vector<TableCopy>& tables) {
  std::map<const FileDescriptor*, MappedFile> files;
  for (const OwnedSegment& segment : segments) {
    MappedFile& file = files.try_emplace(segment.file.get(), segment.file).first->second;
    mappings_.emplace(segment.segment, file.map(segment.extent, Mapping::Access::read));
  }
  for (const TableCopy& table : tables) copies_.emplace(table.segment, table.contents);
}

std::span<const std::byte> MappedSegments::contents(matcher::SegmentId segment) {
  const auto found = mappings_.find(segment);
  if (found != mappings_.end()) return found->second.bytes();
  const auto copy = copies_.find(segment);
  if (copy != copies_.end()) return copy->second;
  throw Error(NC_EIO, "segment " + std::to_string(segment) + " is not at hand");
}

/// Where the data of all logs is in memory. Of other nodes' logs it is anything.
class StepSource::Logs final : public replay::LogReader {
 public:
  explicit Logs(StepSource& source) noexcept : source_(source) {}

  [[nodiscard]] std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    const matcher::LogRange* const range = source_.range_of(writer, log_offset);
    if (range == nullptr) return {};
    const std::uint64_t skipped = log_offset - range->log_offset;
    if (!source_.segments_.contains(range->segment)) return nothing();
    // Within the segment: the scan of the tables has seen to that.
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

/// In place of each byte of data: whether it is here.
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
    : view_(view), segments_(parts.segments, parts.tables), has_fill_(parts.has_fill), index_(segments_) {
  if (view.header.empty()) return;
  if (!parts.behind.empty()) {
    index_.take_behind(view, parts.behind);
    return;
  }
  index_.set_header(view.header);
  index_.update(view.logs, true, matcher::Reach::published);
}

/// Null where the log has no data.
const matcher::LogRange* StepSource::range_of(std::uint32_t writer, std::uint64_t log_offset) const {
  const auto ranges = index_.ranges(writer);
  const auto next = std::ranges::upper_bound(ranges, log_offset, {}, &matcher::LogRange::log_offset);
  if (next == ranges.begin()) return nullptr;
  const matcher::LogRange& range = *std::prev(next);
  return log_offset - range.log_offset < range.length_bytes ? &range : nullptr;
}

/// Where each put is visible at once, the request tables know more than the writers could tell.
std::int64_t StepSource::record_count() const noexcept {
  const bool is_told_by_tables = view_.publish_at == matcher::PublishAt::write && view_.is_cut;
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
    if (i < behind.size()) scan.begin_at(writer, behind[i], view_.logs[i].ranges);
    scan.read(writer, view_.logs[i], look, matcher::Reach::published);
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

void StepSource::read(const Read& read, void* destination) {
  const formats::Type type = read.header.variable(read.variable).type;
  std::array<std::byte, 8> fill{};
  read.header.fill_value(read.variable, fill.data());
  Logs logs(*this);
  (void)replay::execute(plan_of(read), logs, {type, type, false, fill.data()}, destination);
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
