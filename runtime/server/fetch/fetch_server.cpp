#include "fetch_server.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "fetch_client.hpp"
#include "held_requests.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/replay/packer.hpp"
#include "sluice/storage/cut_guard.hpp"

namespace sluice::runtime {

namespace {

/// Pieces of at least this size are sent without a copy, if they are contiguous in memory.
constexpr std::size_t least_unpacked_bytes = 4096;

/// Logs of a step in the segments of this matcher.
class HeldLogs final : public replay::LogReader {
 public:
  /// `scan`: a scan of the tables, for a growing step, whose view does not have the positions of its data.
  HeldLogs(matcher::SegmentMemory& memory, const matcher::StepView& view, const matcher::TableScan* scan)
      : memory_(memory), view_(view), scan_(scan) {}
  std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    if (writer >= view_.logs.size()) return {};
    const auto ranges = scan_ != nullptr ? scan_->ranges(writer) : all_of(view_.logs[writer].ranges);
    const auto [found, length] = matcher::range_at(ranges, log_offset);
    if (found == nullptr) return {};
    const matcher::LogRange& range = *found;
    const std::uint64_t skipped = log_offset - range.log_offset;
    segment_ = range.segment;
    const std::span<const std::byte> segment = memory_.contents(range.segment);
    if (range.segment_offset > segment.size() || length > segment.size() - range.segment_offset) return {};
    return segment.subspan(range.segment_offset + skipped, length - skipped);
  }
  /// The segment of the last answer.
  [[nodiscard]] matcher::SegmentId segment() const noexcept { return segment_; }

 private:
  matcher::SegmentMemory& memory_;
  const matcher::StepView& view_;
  const matcher::TableScan* scan_;
  matcher::SegmentId segment_ = 0;
};

}  // namespace

/// Data that is being sent to another matcher. Each requested piece is answered, even after a failure.
struct FetchServer::Sending {
  struct Run {
    std::uint64_t bytes = 0;
    std::uint64_t done = 0;
    std::uint64_t gap_bytes = 0;  ///< before the next part
    std::deque<replay::Packer> parts;
  };
  std::uint32_t to = 0;
  std::uint64_t id = 0;
  std::uint32_t channel = 0;
  StepViewPointer view;
  ScanPointer scan;  ///< null for a published step
  std::deque<Run> runs;
  std::set<std::uint32_t> writers;  ///< the logs that have the parts
  bool has_logs = false;            ///< which others may cut, so they are not sent from where they are
  Outcome outcome;
  bool is_over = false;  ///< the asker does not need it any more
  bool is_started = false;
  bool is_unknown = false;  ///< the failure is an unknown name
  bool is_failure_told = false;

  void find_parts(const Fetch& request, SpecCache& known);
  [[nodiscard]] std::vector<matcher::SegmentId> segments() const;
  [[nodiscard]] PeerLink::Data next(FetchServer& server, Run& run, std::span<std::byte> buffer);
};

/// Throws Error(NC_EIO) when the parts differ from what the asker expects.
void FetchServer::Sending::find_parts(const Fetch& request, SpecCache& known) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::uint64_t bytes = 0;
    for (const FetchItem& asked : request.runs[i].parts) {
      const FetchSpecPointer part = known.take(asked);
      if (part == nullptr) {
        is_unknown = true;
        throw Error(NC_EIO, "another matcher names data that is not known here");
      }
      replay::Plan copies = part->copies;
      for (replay::Copy& copy : copies.copies) {
        copy.writer += static_cast<std::uint32_t>(view->first_own_log);
        writers.insert(copy.writer);
      }
      runs[i].parts.emplace_back(std::move(copies), part->element_bytes);
      bytes = aligned_inbound(bytes) + runs[i].parts.back().bytes();
    }
    if (bytes != runs[i].bytes) throw Error(NC_EIO, "another matcher requests other data than it names");
  }
}

/// The segments of burst-buffer logs that have the parts.
std::vector<matcher::SegmentId> FetchServer::Sending::segments() const {
  std::vector<matcher::SegmentId> segments;
  for (const std::uint32_t writer : writers) {
    if (writer >= view->logs.size()) continue;
    const auto ranges = scan != nullptr ? scan->ranges(writer) : all_of(view->logs[writer].ranges);
    for (const matcher::LogRange& range : ranges)
      if (matcher::is_spilled(range.segment)) segments.push_back(range.segment);
  }
  return segments;
}

/// Provides as much data as fits in `buffer`.
PeerLink::Data FetchServer::Sending::next(FetchServer& server, Run& run, std::span<std::byte> buffer) {
  HeldLogs logs(server.memory_, *view, scan.get());
  const std::uint64_t before = storage::cuts();
  const auto end_part = [&run] {
    const std::uint64_t bytes = run.parts.front().bytes();
    run.gap_bytes = aligned_inbound(bytes) - bytes;
    run.parts.pop_front();
  };
  if (run.gap_bytes == 0 && buffer.size() >= least_unpacked_bytes && !has_logs) {
    const std::span<const std::byte> bytes = run.parts.front().pass(logs, buffer.size());
    if (run.parts.front().is_done()) end_part();
    if (!bytes.empty()) return {bytes, server.host_.keep_mapped(logs.segment()), false};
  }
  std::size_t used = 0;
  while (used < buffer.size()) {
    const std::size_t gap = std::min<std::uint64_t>(run.gap_bytes, buffer.size() - used);
    std::ranges::fill(buffer.subspan(used, gap), std::byte{});
    used += gap;
    run.gap_bytes -= gap;
    if (used == buffer.size()) break;
    const std::size_t packed = run.parts.front().pack(logs, buffer.subspan(used));
    if (packed == 0) throw Error(NC_EIO, "a log has less data than requested");
    used += packed;
    if (run.parts.front().is_done()) end_part();
  }
  storage::expect_no_cut(before);
  return {buffer, nullptr, false};
}

/// A scan of this matcher's tables, which has the positions of log data while the logs are written.
FetchServer::ScanPointer FetchServer::scan_of(const matcher::StepView& view) {
  ScanPointer& scan = growing_[view.step];
  if (scan == nullptr) scan = std::make_shared<matcher::TableScan>(memory_);
  scan->expect_newer_memory(!view.is_final);
  for (std::size_t i = 0; i < view.logs.size(); ++i) {
    if (holder_of(view.logs[i]) != place_) continue;
    scan->read(
        static_cast<std::uint32_t>(i), view.logs[i], [](const auto&, auto) {},
        matcher::Visibility::everything);
  }
  return scan;
}

void FetchServer::answer(std::uint32_t to, const Fetch& request) {
  if (request.runs.empty()) return end(to, request.id);
  auto sending = std::make_shared<Sending>();  // shared with the link, and with the view that is waited for
  sending->to = to;
  sending->id = request.id;
  sending->channel = request.channel;
  for (const FetchRun& run : request.runs) {
    if (run.bytes == 0) throw Error(NC_EIO, "another matcher requests no data");
    sending->runs.push_back({run.bytes, 0, 0, {}});
  }
  sending_[{to, request.id}] = sending;
  host_.view(request.step, [this, sending, request](const Outcome& outcome, const StepViewPointer& view) {
    if (sending->is_started) return;
    sending->outcome = outcome;
    if (!outcome.is_failure()) prepare(*sending, request, view);
    open_logs(sending);
  });
}

/// Maps the logs while they are open.
void FetchServer::open_logs(const SendingPointer& sending) {
  if (sending->outcome.is_failure()) return start(sending);
  std::vector<matcher::SegmentId> logs = sending->segments();
  sending->has_logs = !logs.empty();
  host_.open(std::move(logs), [this, sending](std::span<const matcher::SegmentId> part, bool is_last) {
    try {
      for (const matcher::SegmentId segment : part) (void)memory_.contents(segment);
    } catch (const Error& error) {
      sending->outcome = {error.status(), error.what()};
    }
    if (is_last && !sending->is_started) start(sending);
  });
}

void FetchServer::prepare(Sending& sending, const Fetch& request, const StepViewPointer& view) {
  try {
    sending.view = view;
    if (view->is_told_whole()) {
      growing_.erase(request.step);
    } else {
      sending.scan = scan_of(*view);
    }
    sending.find_parts(request, known_specs_);
  } catch (const Error& error) {
    growing_.erase(request.step);
    sending.outcome = {error.status(), error.what()};
  }
}

void FetchServer::start(const SendingPointer& sending) {
  sending->is_started = true;
  host_.send_data({sending->to, sending->channel},
                  [this, sending](std::span<std::byte> buffer) { return next_data(*sending, buffer); });
}

/// Returns an empty piece when there is no data.
PeerLink::Data FetchServer::next_data(Sending& sending, std::span<std::byte> buffer) {
  Sending::Run& run = sending.runs.front();
  const auto length = std::min<std::uint64_t>(buffer.size(), run.bytes - run.done);
  PeerLink::Data data;
  if (!sending.is_over && !sending.outcome.is_failure()) {
    try {
      data = sending.next(*this, run, buffer.first(length));
    } catch (const std::exception& error) {
      sending.outcome = {NC_EIO, error.what()};
    }
  }
  if (sending.outcome.is_failure() && !sending.is_over && !std::exchange(sending.is_failure_told, true)) {
    const FetchFailed failure{sending.id, sending.is_unknown, sending.outcome};
    send_message(host_, sending.to, ExchangePacket::fetch_failed, failure);
  }
  run.done += length;
  if (run.done == run.bytes) sending.runs.pop_front();
  data.is_last = sending.runs.empty();
  if (data.is_last) sending_.erase({sending.to, sending.id});
  return data;
}

void FetchServer::end(std::uint32_t to, std::uint64_t fetch) {
  const auto found = sending_.find({to, fetch});
  if (found == sending_.end()) return;
  const SendingPointer sending = found->second;
  sending->is_over = true;
  if (!sending->is_started) start(sending);
}

}  // namespace sluice::runtime
