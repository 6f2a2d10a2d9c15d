// Steps that this matcher writes to files.
#include <fcntl.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "matcher_server.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {
namespace {

/// A link at the path stays: the file that it names is replaced.
std::string behind_links(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

/// The beginning of a request table, as far as there are entries.
std::vector<std::byte> in_use(std::span<const std::byte> table) {
  std::uint64_t bytes = 0;
  if (table.size() < sizeof bytes) return {};
  std::memcpy(&bytes, table.data(), sizeof bytes);
  const auto used = table.first(sizeof bytes + std::min<std::uint64_t>(bytes, table.size() - sizeof bytes));
  std::vector<std::byte> copy(used.begin(), used.end());
  std::memcpy(copy.data(), &bytes, sizeof bytes);  // as it was before the entries were copied
  return copy;
}

}  // namespace

void MatcherRank::Server::begin_drain(const RelayItem& item) {
  const KnownStep* const known = known_steps_.find(item.number);
  if (known == nullptr) throw Error(NC_EIO, "the registry did not tell of the step");
  DrainTask task{known->view, decode<DrainOrder>(item.fields), {}};
  task.order.path = behind_links(task.order.path);
  const std::uint32_t node = nodes_.place_of(tree_.rank()).node;
  std::vector<matcher::SegmentId> segments;
  for (const matcher::LogView& log : known->view->logs) {
    for (const auto* const of_log : {&log.tables, &log.data}) {
      for (const matcher::LogSegment& segment : *of_log) {
        if (matcher::node_of(segment.segment) != node) continue;
        segments.push_back(segment.segment);
        task.segments.push_back({segment.segment, {segment.bytes}, {}});
      }
    }
  }
  const matcher::StepId step = item.number;
  drains_.insert_or_assign(step, std::move(task));
  neighbours_.fetch(segments, [this, step] { start_drain(step); });
}

/// The step's segments of this node are at hand.
void MatcherRank::Server::start_drain(matcher::StepId step) {
  DrainTask& task = drains_.at(step);
  try {
    for (OwnedSegment& segment : task.segments) {
      segment.file = store_.descriptor(segment.segment);
      segment.extent = store_.extent(segment.segment);
    }
  } catch (const Error& error) {
    if (task.order.parts == 1) drains_.erase(step);
    // Later: the registry may be in the middle of something.
    const DrainReport report{error.status(), error.what(), 0};
    return boost::asio::post(loop_, [this, step, report] { end_drain(step, report); });
  }
  if (task.order.parts == 1)
    return drain_worker_.submit(DrainStage::whole, std::move(drains_.extract(step).mapped()));
  if (task.order.part == 0) return drain_worker_.submit(DrainStage::make, {task.view, task.order, {}});
  send_drain_tables(step);
}

/// Others need the request tables of this node to know which of two puts is the later one.
void MatcherRank::Server::send_drain_tables(matcher::StepId step) {
  DrainTables tables;
  const DrainTask& task = drains_.at(step);
  tables.partial = task.partial;
  const std::uint32_t node = nodes_.place_of(tree_.rank()).node;
  for (const matcher::LogView& log : task.view->logs) {
    for (const matcher::LogSegment& table : log.tables) {
      if (matcher::node_of(table.segment) == node)
        tables.tables.push_back({table.segment, in_use(store_.contents(table.segment))});
    }
  }
  RelayItem item;
  item.kind = RelayItemKind::drain_ready;
  item.number = step;
  item.fields = encode(tables);
  tree_.send_up(std::move(item));
}

void MatcherRank::Server::drain_part_of(const RelayItem& item) {
  DrainTask& task = drains_.at(item.number);
  auto tables = decode<DrainTables>(item.fields);
  task.partial = std::move(tables.partial);
  DrainTask part{task.view, task.order, std::exchange(task.segments, {}), std::move(tables.tables),
                 task.partial};
  drain_worker_.submit(DrainStage::part, std::move(part));
}

/// To all that were asked for a part; the first of them has made the file.
void MatcherRank::Server::finish_drain(const RelayItem& item) {
  DrainTask task = std::move(drains_.extract(item.number).mapped());
  if (task.order.part != 0) return;
  task.segments.clear();
  drain_worker_.submit(item.bytes != 0 ? DrainStage::finish : DrainStage::remove, std::move(task));
}

void MatcherRank::Server::note_drain_stage(matcher::StepId step, DrainStage stage,
                                           const DrainReport& report) {
  if (stage == DrainStage::make && report.status == NC_NOERR) {
    drains_.at(step).partial = report.partial;
    return send_drain_tables(step);
  }
  end_drain(step, report);
}

void MatcherRank::Server::tell_drain(matcher::StepId step, const matcher::DrainProgress& progress) {
  RelayItem item;
  item.kind = RelayItemKind::drain_progress;
  item.number = step;
  item.bytes = progress.done_bytes;
  item.wanted_bytes = progress.total_bytes;
  tree_.send_up(std::move(item));
}

void MatcherRank::Server::end_drain(matcher::StepId step, const DrainReport& report) {
  RelayItem item;
  item.kind = RelayItemKind::drained;
  item.number = step;
  item.fields = encode(report);
  tree_.send_up(std::move(item));
}

}  // namespace sluice::runtime
