#include "sluice/matcher/packed_logs.hpp"

#include <algorithm>
#include <utility>

#include "log_segments.hpp"
#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

namespace {

LogView::Segments views_of(const auto& segments) {
  LogView::Segments views;
  for (const SegmentLease& segment : segments) views.push_back({segment.id(), segment.bytes()});
  return views;
}

}  // namespace

const SegmentLease& PackedLogs::grant(std::uint32_t rank, const SegmentRequest& request,
                                      SegmentLease&& segment) {
  OpenLog& log = open_[rank];
  if (request.is_ahead && request.use == SegmentUse::data) log.ahead = segment.id();
  return (request.use == SegmentUse::table ? log.tables : log.data).emplace_back(std::move(segment));
}

bool PackedLogs::holds(std::uint32_t rank, const LogRange& range) const noexcept {
  return holds_range(open_[rank].data, range);
}

void PackedLogs::trim(OpenLog& log, const LogRanges& ranges, const TablePosition& end) noexcept {
  if (end.chunks == 0) {
    log.tables.clear();
  } else {
    trim_table(log.tables, end);
  }
  log.data.erase(trim_data(log.data.begin(), log.data.end(), ranges, log.ahead), log.data.end());
}

void PackedLogs::close(std::uint32_t rank, const PublishRequest& request) {
  trim(open_[rank], request.ranges, request.position);
  pack(rank, request.ranges, request.extent, request.position);
  patterns_[rank] = request.pattern;
}

void PackedLogs::pack(std::uint32_t rank, const LogRanges& ranges, const LogExtent& extent,
                      const TablePosition& end) {
  const bool goes_on = is_piece_open_ && rank == pieces_.back().first + pieces_.back().logs;
  if (!goes_on) {
    end_piece();
    pieces_.emplace_back().first = rank;
    is_piece_open_ = true;
  }
  OpenLog& log = open_[rank];
  packer_->add({views_of(log.tables), views_of(log.data), ranges, extent, end});
  Piece& piece = pieces_.back();
  for (SegmentLease& segment : log.tables) piece.tables.add(std::move(segment));
  for (SegmentLease& segment : log.data) piece.data.add(std::move(segment));
  log.tables.clear();
  log.data.clear();
  log.ahead = 0;
  ++piece.logs;
  ++closed_;
}

void PackedLogs::end_piece() {
  if (std::exchange(is_piece_open_, false)) pieces_.back().bytes = packer_->take();
}

/// Gives the closed logs their segments back, and calls `take` with the rank and the view of each.
template <class Take>
void PackedLogs::open_again(const Take& take) {
  end_piece();
  open_.resize(size_);
  for (Piece& piece : std::exchange(pieces_, {})) {
    std::vector<LogView> views =
        is_complete() ? this->views() : packing_.views(packing_.as_list(piece.logs, piece.bytes));
    std::vector<SegmentLease> tables = piece.tables.take();
    std::vector<SegmentLease> data = piece.data.take();
    auto next_table = tables.begin();
    auto next_data = data.begin();
    const auto give = [](OpenLog::Segments& to, std::size_t count, auto& next) {
      for (std::size_t i = 0; i < count; ++i) to.push_back(std::move(*next++));
    };
    for (std::size_t i = 0; i < piece.logs; ++i) {
      const std::size_t rank = piece.first + i;
      give(open_[rank].tables, views[i].tables.size(), next_table);
      give(open_[rank].data, views[i].data.size(), next_data);
      take(rank, std::move(views[i]));
    }
  }
  closed_ = 0;
}

/// Logs that closed in any order are not alike until they are in the order of the ranks.
void PackedLogs::put_in_order() {
  constexpr std::size_t least_logs_of_piece = 8;
  if (pieces_.size() * least_logs_of_piece < size_) return;
  std::vector<LogView> views(size_);
  open_again([&](std::size_t rank, LogView&& view) { views[rank] = std::move(view); });
  for (std::uint32_t rank = 0; rank < size_; ++rank)
    pack(rank, views[rank].ranges, views[rank].extent, views[rank].published);
}

void PackedLogs::complete() {
  put_in_order();
  end_piece();
  packer_.reset();
  open_ = std::vector<OpenLog>();
  for (const LogPattern& pattern : patterns_) last_put_ = std::max(last_put_, pattern.last_put);
  patterns_ = std::vector<LogPattern>();
  std::ranges::sort(pieces_, {}, &Piece::first);
  Piece whole = std::move(pieces_.front());
  for (Piece& piece : std::span(pieces_).subspan(1)) {
    whole.bytes.insert(whole.bytes.end(), piece.bytes.begin(), piece.bytes.end());
    whole.tables.append(std::move(piece.tables));
    whole.data.append(std::move(piece.data));
    whole.logs += piece.logs;
  }
  list_ = std::make_shared<const std::vector<std::byte>>(packing_.as_list(whole.logs, whole.bytes));
  whole.bytes = std::vector<std::byte>();
  pieces_.clear();
  pieces_.push_back(std::move(whole));
  pieces_.shrink_to_fit();
}

std::vector<LogView> PackedLogs::views() const {
  return packing_.views(*list_);
}

std::vector<std::shared_ptr<WriteLog>> PackedLogs::unpack() {
  std::vector<std::shared_ptr<WriteLog>> logs = new_logs(size_);
  open_again([&](std::size_t rank, LogView&& view) {
    LogPattern pattern;
    pattern.last_put = last_put_;
    if (!patterns_.empty()) pattern = patterns_[rank];
    logs[rank]->contents.change() = {std::move(view.ranges), pattern, std::move(view.extent), view.published};
  });
  for (std::size_t rank = 0; rank < size_; ++rank) {
    const auto move_to = [](WriteLog::Segments& to, OpenLog::Segments& from) {
      for (SegmentLease& segment : from) to.push_back(std::make_shared<SegmentLease>(std::move(segment)));
    };
    move_to(logs[rank]->tables, open_[rank].tables);
    move_to(logs[rank]->data, open_[rank].data);
    logs[rank]->ahead = open_[rank].ahead;
  }
  return logs;
}

void PackedLogs::add_bytes(BytesByMedium& sums) const {
  for (const Piece& piece : pieces_) {
    for (const SegmentRuns* const runs : {&piece.tables, &piece.data}) {
      for (const SegmentRuns::Run& run : runs->runs())
        sums.add(run.row.first, run.row.count * run.charged_bytes);
    }
  }
  for (const OpenLog& log : open_) {
    for (const SegmentLease& segment : log.tables) sums.add(segment);
    for (const SegmentLease& segment : log.data) sums.add(segment);
  }
}

/// A run lies in one pool, so on one node.
void PackedLogs::add_table_nodes(std::set<std::uint32_t>& nodes) const {
  for (const Piece& piece : pieces_) {
    for (const SegmentRuns::Run& run : piece.tables.runs()) nodes.insert(node_of(run.row.first));
  }
  for (const OpenLog& log : open_) {
    for (const SegmentLease& segment : log.tables) nodes.insert(node_of(segment.id()));
  }
}

bool PackedLogs::has_data_on(std::uint32_t node) const noexcept {
  const auto is_run_there = [&](const SegmentRuns::Run& run) { return node_of(run.row.first) == node; };
  const auto is_closed_there = [&](const Piece& piece) {
    return std::ranges::any_of(piece.tables.runs(), is_run_there) ||
           std::ranges::any_of(piece.data.runs(), is_run_there);
  };
  const auto is_there = [&](const SegmentLease& segment) { return node_of(segment.id()) == node; };
  const auto is_open_there = [&](const OpenLog& log) {
    return std::ranges::any_of(log.tables, is_there) || std::ranges::any_of(log.data, is_there);
  };
  return std::ranges::any_of(pieces_, is_closed_there) || std::ranges::any_of(open_, is_open_there);
}

}  // namespace sluice::matcher
