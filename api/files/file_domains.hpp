#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "file_access.hpp"
#include "file_options.hpp"

namespace sluice::api {

/// The part of one rank in a collective access, known to all ranks.
struct RequestSummary {
  FileRange hull;  ///< from the first to the last byte
  std::int64_t bytes = 0;
  std::int64_t extents = 0;
  std::int64_t runs =
      0;  ///< accesses to the file if the rank makes them itself, gaps bridged where that is allowed
  std::int64_t run_bytes = 0;  ///< bytes that these accesses transfer
  std::int64_t has_more = 0;   ///< 1: another batch follows
  std::int64_t records = 0;    ///< record count after the access, as far as this rank knows
};

/// Whether exchanging data among the ranks costs less than separate file accesses by each rank.
[[nodiscard]] bool is_exchange_better(std::span<const RequestSummary> summaries, const FileOptions& options,
                                      FileOptions::Exchange wish);

/// The range of the file that covers the accesses of all ranks.
[[nodiscard]] FileRange joint_hull(std::span<const RequestSummary> summaries) noexcept;

/// The number of aggregators to use, at most `available`: only one for less than a few pages.
[[nodiscard]] int aggregators_for(std::int64_t total_bytes, int available) noexcept;

/// The aggregator ranks: the first ranks of each node, with nodes taken in turn. `node_of_rank` gives each
/// rank's node as an arbitrary number.
[[nodiscard]] std::vector<int> choose_aggregators(std::span<const int> node_of_rank,
                                                  const FileOptions& options);

/// The number of bytes in each of the equal cells of a file range.
class LoadMap {
 public:
  LoadMap(const FileRange& hull, std::int64_t alignment_bytes);
  void add(const FileRange& range);
  [[nodiscard]] std::span<std::int64_t> cells() noexcept { return cells_; }
  [[nodiscard]] std::span<const std::int64_t> cells() const noexcept { return cells_; }
  [[nodiscard]] FileRange cell_range(std::size_t cell) const noexcept;

 private:
  FileRange hull_;
  std::int64_t origin_;
  std::int64_t cell_bytes_;
  std::vector<std::int64_t> cells_;
};

/// The parts of the file that the aggregators handle. Each part is a sequence of windows; in round i every
/// aggregator handles its i-th window. The same on all ranks.
class FileDomains {
 public:
  /// Divides the range evenly.
  [[nodiscard]] static FileDomains even(const FileRange& hull, int aggregators, const FileOptions& options);
  /// Divides the range so that all aggregators have about the same load. Untouched cells are left out.
  [[nodiscard]] static FileDomains balanced(const LoadMap& loads, int aggregators,
                                            const FileOptions& options);

  [[nodiscard]] int aggregators() const noexcept { return static_cast<int>(windows_.size()); }
  [[nodiscard]] std::size_t rounds() const noexcept;
  /// Empty if the aggregator has no work in this round.
  [[nodiscard]] FileRange window(int aggregator, std::size_t round) const noexcept;

 private:
  void append(int aggregator, const FileRange& range, std::int64_t window_bytes);

  std::vector<std::vector<FileRange>> windows_;  ///< by aggregator
};

}  // namespace sluice::api
