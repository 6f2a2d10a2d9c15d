#include "file_domains.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace sluice::api {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

constexpr std::int64_t most_cells = 4096;

/// More aggregators do not use one node's memory faster.
constexpr std::size_t most_default_aggregators_per_node = 4;

}  // namespace

bool is_exchange_better(std::span<const RequestSummary> summaries, const FileOptions& options,
                        FileOptions::Exchange wish) {
  if (summaries.size() == 1 || wish == FileOptions::Exchange::never) return false;
  if (wish == FileOptions::Exchange::always) return true;
  // Costs in bytes that could be copied in the same time; the slowest rank counts.
  std::int64_t direct = 0;
  std::int64_t exchange = 0;
  for (const auto& summary : summaries) {
    direct = std::max(
        direct, summary.runs * options.access_cost + (summary.run_bytes - summary.bytes) * options.byte_cost);
    exchange = std::max(exchange, summary.bytes + summary.extents * options.extent_cost);
  }
  return direct > exchange + options.exchange_cost;
}

FileRange joint_hull(std::span<const RequestSummary> summaries) noexcept {
  FileRange hull{std::numeric_limits<std::int64_t>::max(), 0};
  for (const auto& summary : summaries) {
    if (summary.hull.is_empty()) continue;
    hull.begin = std::min(hull.begin, summary.hull.begin);
    hull.end = std::max(hull.end, summary.hull.end);
  }
  return hull.is_empty() ? FileRange{} : hull;
}

int aggregators_for(std::int64_t total_bytes, int available) noexcept {
  constexpr std::int64_t worthwhile_bytes = 64 << 10;
  return static_cast<int>(std::clamp<std::int64_t>(total_bytes / worthwhile_bytes, 1, available));
}

std::vector<int> choose_aggregators(std::span<const int> node_of_rank, const FileOptions& options) {
  std::map<int, std::vector<int>> ranks_of_node;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank)
    ranks_of_node[node_of_rank[rank]].push_back(static_cast<int>(rank));
  const auto share_of_node = [&](std::size_t ranks) {
    if (options.aggregators > 0) return ranks;
    if (options.aggregators_per_node > 0) return static_cast<std::size_t>(options.aggregators_per_node);
    return std::clamp<std::size_t>(ranks / 2, 1, most_default_aggregators_per_node);
  };
  std::size_t most = node_of_rank.size();
  if (options.aggregators > 0) most = std::min(most, static_cast<std::size_t>(options.aggregators));
  std::vector<int> chosen;
  for (std::size_t i = 0; i < node_of_rank.size() && chosen.size() < most; ++i) {
    for (const auto& [node, ranks] : ranks_of_node) {
      if (i < std::min(ranks.size(), share_of_node(ranks.size())) && chosen.size() < most)
        chosen.push_back(ranks[i]);
    }
  }
  return chosen;
}

LoadMap::LoadMap(const FileRange& hull, std::int64_t alignment_bytes)
    : hull_(hull),
      origin_(hull.begin / alignment_bytes * alignment_bytes),
      cell_bytes_(round_up((hull.end - origin_ + most_cells - 1) / most_cells, alignment_bytes)),
      cells_(static_cast<std::size_t>((hull.end - origin_ + cell_bytes_ - 1) / cell_bytes_)) {}

void LoadMap::add(const FileRange& range) {
  for (std::int64_t begin = range.begin; begin < range.end;) {
    const std::int64_t cell = (begin - origin_) / cell_bytes_;
    const std::int64_t end = std::min(range.end, origin_ + (cell + 1) * cell_bytes_);
    cells_[static_cast<std::size_t>(cell)] += end - begin;
    begin = end;
  }
}

FileRange LoadMap::cell_range(std::size_t cell) const noexcept {
  const std::int64_t begin = origin_ + static_cast<std::int64_t>(cell) * cell_bytes_;
  return {std::max(begin, hull_.begin), std::min(begin + cell_bytes_, hull_.end)};
}

FileDomains FileDomains::even(const FileRange& hull, int aggregators, const FileOptions& options) {
  FileDomains domains;
  domains.windows_.resize(static_cast<std::size_t>(aggregators));
  const std::int64_t origin = hull.begin / options.alignment_bytes * options.alignment_bytes;
  const std::int64_t share =
      round_up((hull.end - origin + aggregators - 1) / aggregators, options.alignment_bytes);
  for (int a = 0; a < aggregators; ++a) {
    const FileRange range{std::max(hull.begin, origin + a * share),
                          std::min(hull.end, origin + (a + 1) * share)};
    if (!range.is_empty()) domains.append(a, range, options.window_bytes);
  }
  return domains;
}

FileDomains FileDomains::balanced(const LoadMap& loads, int aggregators, const FileOptions& options) {
  FileDomains domains;
  domains.windows_.resize(static_cast<std::size_t>(aggregators));
  const auto cells = loads.cells();
  std::int64_t total = 0;
  for (const std::int64_t load : cells) total += load;
  const std::int64_t share = std::max<std::int64_t>(1, (total + aggregators - 1) / aggregators);
  std::int64_t before = 0;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (cells[cell] == 0) continue;
    const auto aggregator = static_cast<int>(std::min<std::int64_t>(before / share, aggregators - 1));
    domains.append(aggregator, loads.cell_range(cell), options.window_bytes);
    before += cells[cell];
  }
  return domains;
}

void FileDomains::append(int aggregator, const FileRange& range, std::int64_t window_bytes) {
  auto& windows = windows_[static_cast<std::size_t>(aggregator)];
  for (std::int64_t begin = range.begin; begin < range.end;) {
    if (windows.empty() || windows.back().end != begin || windows.back().size() >= window_bytes)
      windows.push_back({begin, begin});
    auto& window = windows.back();
    window.end = std::min(range.end, window.begin + window_bytes);
    begin = window.end;
  }
}

std::size_t FileDomains::rounds() const noexcept {
  std::size_t rounds = 0;
  for (const auto& windows : windows_) rounds = std::max(rounds, windows.size());
  return rounds;
}

FileRange FileDomains::window(int aggregator, std::size_t round) const noexcept {
  const auto& windows = windows_[static_cast<std::size_t>(aggregator)];
  return round < windows.size() ? windows[round] : FileRange{};
}

}  // namespace sluice::api
