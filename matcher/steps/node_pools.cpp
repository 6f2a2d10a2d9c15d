#include "node_pools.hpp"

#include <algorithm>

namespace sluice::matcher {

NodePools::NodePools(const RegistryOptions& options, SegmentMemory& memory) {
  for (std::uint32_t node = 0; node < options.nodes; ++node)
    pools_.push_back(std::make_unique<SegmentPool>(memory, options.memory_bytes, node, options.warm));
}

std::uint64_t NodePools::disk_given_back() const {
  std::uint64_t times = 1 + logs_ended_;
  for (const auto& pool : pools_) times += pool->spills_given_back();
  return times;
}

bool NodePools::is_giving_disk_back() const {
  return std::ranges::any_of(pools_, [](const auto& pool) { return pool->is_giving_disk_back(); });
}

std::string NodePools::memory_text(std::uint32_t node, std::uint64_t bytes) const {
  const SegmentPool& pool = at(node);
  const std::string where = pools_.size() > 1 ? " of node " + std::to_string(node) : "";
  const auto in_units = [](std::uint64_t value) {
    constexpr std::uint64_t mib = 1 << 20;
    if (value >= 10 * mib) return std::to_string(value / mib) + " MiB";
    return std::to_string((value + 1023) / 1024) + " KiB";
  };
  return in_units(bytes) + " of staging memory" + where + " (" + in_units(pool.used_bytes()) + " of " +
         in_units(pool.limit_bytes()) + " in use)";
}

void NodePools::report(StatusReport& report) const {
  for (const auto& pool : pools_) {
    report.bytes_staged = std::max(report.bytes_staged, pool->used_bytes());
    report.bytes_staged_peak = std::max(report.bytes_staged_peak, pool->used_peak_bytes());
    report.bytes_spilled += pool->spilled_bytes();
  }
}

}  // namespace sluice::matcher
