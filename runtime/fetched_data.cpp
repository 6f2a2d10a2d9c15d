// What other nodes fetch of the logs that this matcher has.
#include <algorithm>
#include <cstring>
#include <utility>

#include "node_exchange_state.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

constexpr std::size_t data_head_bytes = 1 + sizeof(std::uint64_t);

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
    const std::span<const std::byte> segment = memory_.contents(range.segment);
    if (range.segment_offset > segment.size() || length > segment.size() - range.segment_offset) return {};
    return segment.subspan(range.segment_offset + skipped, length - skipped);
  }

 private:
  matcher::SegmentMemory& memory_;
  const matcher::StepView& view_;
  const matcher::TableScan* scan_;
};

}  // namespace

/// What is being sent to another matcher.
struct NodeExchange::Sending {
  std::uint64_t id = 0;
  StepViewPointer view;
  ScanPointer scan;  ///< null for a published step
  std::deque<replay::Packer> parts;
  Outcome outcome;
  bool is_done = false;

  std::size_t produce(matcher::SegmentMemory& memory, std::span<std::byte> room);
};

std::size_t NodeExchange::Sending::produce(matcher::SegmentMemory& memory, std::span<std::byte> room) {
  if (is_done) return 0;
  std::size_t used = data_head_bytes;
  try {
    if (outcome.is_failure()) throw Error(static_cast<Status>(outcome.status), outcome.text);
    room[0] = static_cast<std::byte>(ExchangePacket::fetched);
    std::memcpy(room.data() + 1, &id, sizeof id);
    HeldLogs logs(memory, *view, scan.get());
    while (!parts.empty() && used < room.size()) {
      used += parts.front().pack(logs, room.subspan(used));
      if (!parts.front().is_done()) break;
      parts.pop_front();
    }
    is_done = parts.empty();
    return used > data_head_bytes ? used : 0;
  } catch (const std::exception& error) {
    is_done = true;
    const auto packet = packet_of(ExchangePacket::fetch_failed, FetchFailed{id, {NC_EIO, error.what()}});
    if (packet.size() > room.size()) return 0;
    std::ranges::copy(packet, room.begin());
    return packet.size();
  }
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
  environment_.view(request.step, [this, to, request](const Outcome& outcome, const StepViewPointer& view) {
    auto sending = std::make_shared<Sending>();  // shared with nobody else: producers are copied about
    sending->id = request.id;
    sending->outcome = outcome;
    try {
      if (outcome.is_failure()) throw Error(static_cast<Status>(outcome.status), outcome.text);
      sending->view = view;
      if (view->is_told_whole()) {
        growing_.erase(request.step);
      } else {
        sending->scan = scan_of(*view);
      }
      for (const FetchPart& part : request.parts) {
        std::size_t position = 0;
        sending->parts.emplace_back(replay::decode_plan(part.copies, position), part.element_bytes);
      }
    } catch (const Error& error) {
      growing_.erase(request.step);
      sending->outcome = {error.status(), error.what()};
    }
    environment_.stream(to, [this, sending](std::span<std::byte> room) {
      return sending->produce(*environment_.memory, room);
    });
  });
}

}  // namespace sluice::runtime
