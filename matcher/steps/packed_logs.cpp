#include "sluice/matcher/packed_logs.hpp"

#include <algorithm>
#include <utility>

#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

void PackedLogs::add(std::uint32_t rank, const ClosedLog& closed) {
  const bool goes_on = is_piece_open_ && rank == pieces_.back().first + pieces_.back().logs;
  if (!goes_on) {
    end_piece();
    pieces_.emplace_back().first = rank;
    is_piece_open_ = true;
  }
  packer_->add(closed);
  Piece& piece = pieces_.back();
  for (const SharedSegment& segment : closed.log.tables) piece.tables.add(std::move(*segment));
  for (const SharedSegment& segment : closed.log.data) piece.data.add(std::move(*segment));
  closed.log.tables.clear();
  closed.log.data.clear();
  closed.log.ahead = 0;
  patterns_.at(rank) = closed.pattern;
  closed.log.contents = {};  // at last, because it may be what is added
  ++piece.logs;
  ++size_;
}

void PackedLogs::end_piece() {
  if (std::exchange(is_piece_open_, false)) pieces_.back().bytes = packer_->take();
}

/// Logs that closed in any order are not alike until they are in the order of the ranks.
void PackedLogs::put_in_order(std::span<const std::shared_ptr<WriteLog>> logs) {
  constexpr std::size_t least_logs_of_piece = 8;
  if (pieces_.size() * least_logs_of_piece < size_) return;
  restore(logs);
  for (std::size_t rank = 0; rank < logs.size(); ++rank) {
    WriteLog& log = *logs[rank];
    const auto& [ranges, pattern, extent, end] = *log.contents;
    add(static_cast<std::uint32_t>(rank), {log, ranges, extent, pattern, end});
  }
}

void PackedLogs::complete(std::span<const std::shared_ptr<WriteLog>> logs) {
  put_in_order(logs);
  end_piece();
  packer_.reset();
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

void PackedLogs::restore(std::span<const std::shared_ptr<WriteLog>> logs) {
  end_piece();
  for (Piece& piece : pieces_) {
    std::vector<LogView> views =
        list_ != nullptr ? this->views() : packing_.views(packing_.as_list(piece.logs, piece.bytes));
    std::vector<SegmentLease> tables = piece.tables.take();
    std::vector<SegmentLease> data = piece.data.take();
    auto next_table = tables.begin();
    auto next_data = data.begin();
    const auto give = [](WriteLog::Segments& to, std::size_t count, auto& next) {
      for (std::size_t i = 0; i < count; ++i)
        to.push_back(std::make_shared<SegmentLease>(std::move(*next++)));
    };
    for (std::size_t i = 0; i < piece.logs; ++i) {
      const std::size_t rank = piece.first + i;
      WriteLog& log = *logs[rank];
      give(log.tables, views[i].tables.size(), next_table);
      give(log.data, views[i].data.size(), next_data);
      LogPattern pattern;
      pattern.last_put = last_put_;
      if (!patterns_.empty()) pattern = patterns_[rank];
      log.contents.change() = {std::move(views[i].ranges), pattern, std::move(views[i].extent),
                               views[i].published};
    }
  }
  pieces_.clear();
  size_ = 0;
}

void PackedLogs::add_bytes(BytesByMedium& sums) const {
  for (const Piece& piece : pieces_) {
    for (const SegmentRuns* const runs : {&piece.tables, &piece.data}) {
      for (const SegmentRuns::Run& run : runs->runs())
        sums.add(run.row.first, run.row.count * run.charged_bytes);
    }
  }
}

/// A run lies in one pool, so on one node.
void PackedLogs::add_table_nodes(std::set<std::uint32_t>& nodes) const {
  for (const Piece& piece : pieces_) {
    for (const SegmentRuns::Run& run : piece.tables.runs()) nodes.insert(node_of(run.row.first));
  }
}

bool PackedLogs::has_data_on(std::uint32_t node) const noexcept {
  const auto is_there = [&](const SegmentRuns::Run& run) { return node_of(run.row.first) == node; };
  return std::ranges::any_of(pieces_, [&](const Piece& piece) {
    return std::ranges::any_of(piece.tables.runs(), is_there) ||
           std::ranges::any_of(piece.data.runs(), is_there);
  });
}

}  // namespace sluice::matcher
