// What other nodes fetch of the logs that this matcher has.
#include <algorithm>
#include <cstring>
#include <utility>

#include "node_exchange_state.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// Pieces from this size on are sent from where they are, if they are there in one piece.
constexpr std::size_t least_unpacked_bytes = 4096;

/// Logs of a step in the segments of this matcher.
class HeldLogs final : public replay::LogReader {
 public:
  /// `scan`: of the tables, where the step's view does not tell where the data is (it still grows).
  HeldLogs(matcher::SegmentMemory& memory, const matcher::StepView& view, const matcher::TableScan* scan)
      : memory_(memory), view_(view), scan_(scan) {}
  std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    if (writer >= view_.logs.size()) return {};
    const auto ranges = scan_ != nullptr ? scan_->ranges(writer) : std::span(view_.logs[writer].ranges);
    const auto next = std::ranges::upper_bound(ranges, log_offset, {}, &matcher::LogRange::log_offset);
    if (next == ranges.begin()) return {};
    const matcher::LogRange& range = *std::prev(next);
    std::uint64_t length = range.length_bytes;
    if (next != ranges.end()) length = std::min(length, next->log_offset - range.log_offset);
    const std::uint64_t skipped = log_offset - range.log_offset;
    if (skipped >= length) return {};
    segment_ = range.segment;
    const std::span<const std::byte> segment = memory_.contents(range.segment);
    if (range.segment_offset > segment.size() || length > segment.size() - range.segment_offset) return {};
    return segment.subspan(range.segment_offset + skipped, length - skipped);
  }
  /// That the last answer was found in.
  [[nodiscard]] matcher::SegmentId segment() const noexcept { return segment_; }

 private:
  matcher::SegmentMemory& memory_;
  const matcher::StepView& view_;
  const matcher::TableScan* scan_;
  matcher::SegmentId segment_ = 0;
};

}  // namespace

/// What is being sent to another matcher: each piece that it has asked for is answered, whatever happens.
struct NodeExchange::Sending {
  struct Run {
    std::uint64_t bytes = 0;
    std::uint64_t done = 0;
    std::uint64_t gap_bytes = 0;  ///< ahead of the next part
    std::deque<replay::Packer> parts;
  };
  std::uint32_t to = 0;
  std::uint64_t id = 0;
  std::uint32_t channel = 0;
  StepViewPointer view;
  ScanPointer scan;  ///< null for a published step
  std::deque<Run> runs;
  Outcome outcome;
  bool is_over = false;  ///< nobody wants it any more
  bool is_started = false;
  bool is_unknown = false;  ///< the failure is that a name is not known
  bool is_failure_told = false;

  void find_parts(const Fetch& request, KnownParts& known);
  [[nodiscard]] PeerLink::Data next(const Environment& environment, Run& run, std::span<std::byte> room);
};

/// Throws Error(NC_EIO) when they are not what the asker takes them for.
void NodeExchange::Sending::find_parts(const Fetch& request, KnownParts& known) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::uint64_t bytes = 0;
    for (const AskedPart& asked : request.runs[i].parts) {
      const WantedPartPointer part = known.take(asked);
      if (part == nullptr) {
        is_unknown = true;
        throw Error(NC_EIO, "another matcher names data that is not known here");
      }
      replay::Plan copies = part->copies;
      for (replay::Copy& copy : copies.copies) copy.writer += static_cast<std::uint32_t>(view->first_own_log);
      runs[i].parts.emplace_back(std::move(copies), part->element_bytes);
      bytes = aligned_landing(bytes) + runs[i].parts.back().bytes();
    }
    if (bytes != runs[i].bytes) throw Error(NC_EIO, "another matcher asks for other data than it names");
  }
}

/// As much as there is room for.
PeerLink::Data NodeExchange::Sending::next(const Environment& environment, Run& run,
                                           std::span<std::byte> room) {
  HeldLogs logs(*environment.memory, *view, scan.get());
  const auto end_part = [&run] {
    const std::uint64_t bytes = run.parts.front().bytes();
    run.gap_bytes = aligned_landing(bytes) - bytes;
    run.parts.pop_front();
  };
  if (run.gap_bytes == 0 && room.size() >= least_unpacked_bytes) {
    const std::span<const std::byte> bytes = run.parts.front().pass(logs, room.size());
    if (run.parts.front().is_done()) end_part();
    if (!bytes.empty()) return {bytes, environment.keep_mapped(logs.segment()), false};
  }
  std::size_t used = 0;
  while (used < room.size()) {
    const std::size_t gap = std::min<std::uint64_t>(run.gap_bytes, room.size() - used);
    std::ranges::fill(room.subspan(used, gap), std::byte{});
    used += gap;
    run.gap_bytes -= gap;
    if (used == room.size()) break;
    const std::size_t packed = run.parts.front().pack(logs, room.subspan(used));
    if (packed == 0) throw Error(NC_EIO, "there is less data than was asked for");
    used += packed;
    if (run.parts.front().is_done()) end_part();
  }
  return {room, nullptr, false};
}

/// Where the data of the logs is that this matcher has, while they are written.
NodeExchange::ScanPointer NodeExchange::scan_of(const matcher::StepView& view) {
  ScanPointer& scan = growing_[view.step];
  if (scan == nullptr) scan = std::make_shared<matcher::TableScan>(*environment_.memory);
  scan->expect_newer_memory(!view.is_final);
  for (std::size_t i = 0; i < view.logs.size(); ++i) {
    if (holder_of(view.logs[i]) != environment_.place) continue;
    scan->read(
        static_cast<std::uint32_t>(i), view.logs[i], [](const auto&, auto) {}, matcher::Reach::everything);
  }
  return scan;
}

void NodeExchange::answer_fetch(std::uint32_t to, const Fetch& request) {
  auto sending = std::make_shared<Sending>();  // shared with the link, and with the view that is waited for
  sending->to = to;
  sending->id = request.id;
  sending->channel = request.channel;
  for (const FetchRun& run : request.runs) {
    if (run.bytes == 0) throw Error(NC_EIO, "another matcher asks for nothing");
    sending->runs.push_back({run.bytes, 0, 0, {}});
  }
  if (sending->runs.empty()) throw Error(NC_EIO, "another matcher asks for nothing");
  sending_[{to, request.id}] = sending;
  environment_.view(request.step,
                    [this, sending, request](const Outcome& outcome, const StepViewPointer& view) {
                      if (sending->is_started) return;
                      sending->outcome = outcome;
                      try {
                        if (outcome.is_failure()) return start_sending(sending);
                        sending->view = view;
                        if (view->is_told_whole()) {
                          growing_.erase(request.step);
                        } else {
                          sending->scan = scan_of(*view);
                        }
                        sending->find_parts(request, known_parts_);
                      } catch (const Error& error) {
                        growing_.erase(request.step);
                        sending->outcome = {error.status(), error.what()};
                      }
                      start_sending(sending);
                    });
}

void NodeExchange::start_sending(const SendingPointer& sending) {
  sending->is_started = true;
  environment_.send_data({sending->to, sending->channel},
                         [this, sending](std::span<std::byte> room) { return next_data(*sending, room); });
}

/// Nothing, when there is nothing to be had.
PeerLink::Data NodeExchange::next_data(Sending& sending, std::span<std::byte> room) {
  Sending::Run& run = sending.runs.front();
  const auto length = std::min<std::uint64_t>(room.size(), run.bytes - run.done);
  PeerLink::Data data;
  if (!sending.is_over && !sending.outcome.is_failure()) {
    try {
      data = sending.next(environment_, run, room.first(length));
    } catch (const std::exception& error) {
      sending.outcome = {NC_EIO, error.what()};
    }
  }
  if (sending.outcome.is_failure() && !sending.is_over && !std::exchange(sending.is_failure_told, true)) {
    const FetchFailed failure{sending.id, sending.is_unknown, sending.outcome};
    environment_.send(sending.to, packet_of(ExchangePacket::fetch_failed, failure));
  }
  run.done += length;
  if (run.done == run.bytes) sending.runs.pop_front();
  data.is_last = sending.runs.empty();
  if (data.is_last) sending_.erase({sending.to, sending.id});
  return data;
}

/// Also where it has not begun, because the step is not known yet: the asker waits for it.
void NodeExchange::end_fetch(std::uint32_t to, const FetchOver& notice) {
  const auto found = sending_.find({to, notice.id});
  if (found == sending_.end()) return;
  const SendingPointer sending = found->second;
  sending->is_over = true;
  if (!sending->is_started) start_sending(sending);
}

}  // namespace sluice::runtime
