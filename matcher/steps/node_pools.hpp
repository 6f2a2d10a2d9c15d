#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/matcher/registry_requests.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/status_report.hpp"

namespace sluice::matcher {

/// The segment pools of all nodes. They must outlive every lease.
class NodePools {
 public:
  NodePools(const RegistryOptions& options, SegmentMemory& memory);

  [[nodiscard]] SegmentPool& at(std::uint32_t node) { return *pools_.at(node); }
  [[nodiscard]] const SegmentPool& at(std::uint32_t node) const { return *pools_.at(node); }
  /// The pool of the segment.
  [[nodiscard]] SegmentPool& of(SegmentId segment) { return at(node_of(segment)); }
  [[nodiscard]] std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(pools_.size()); }

  /// The number of times that any node has returned disk space, because logs may be on a shared file system.
  /// Never 0.
  [[nodiscard]] std::uint64_t disk_given_back() const;
  /// Whether any node is returning disk space now.
  [[nodiscard]] bool is_giving_disk_back() const;
  /// A burst-buffer log was closed and cut to the length of its data, so the disk has free space again.
  void note_log_ended() noexcept { ++logs_ended_; }

  /// "2 MiB of staging memory of node 1 (7 MiB of 8 MiB in use)"
  [[nodiscard]] std::string memory_text(std::uint32_t node, std::uint64_t bytes) const;
  void report(StatusReport& report) const;

 private:
  std::vector<std::unique_ptr<SegmentPool>> pools_;  ///< by node
  std::uint64_t logs_ended_ = 0;
};

}  // namespace sluice::matcher
