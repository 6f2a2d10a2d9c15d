#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sluice/replay/plan.hpp"

namespace sluice::replay {

/// Packs the data that a plan's copies read, for transfer to another node. The copies lie one after the
/// other, each in row-major order of its dimensions and without gaps. Each call packs as much as fits in the
/// given memory. Fills are skipped.
class Packer {
 public:
  /// Throws Error(NC_EIO) if the plan's numbers overflow.
  Packer(Plan plan, std::size_t element_bytes);

  /// The total number of packed bytes.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Packs the next whole elements that fit in `room`. Returns their bytes; 0 if no element is left or none
  /// fits. Throws Error(NC_EIO) if the log has no data at a position that the plan reads.
  [[nodiscard]] std::size_t pack(LogReader& log, std::span<std::byte> room);
  /// Returns the next `bytes` bytes in the log itself, if the log holds them in packed form in one piece of
  /// memory. These bytes then count as packed. Otherwise returns an empty span. Throws the same errors as
  /// pack().
  [[nodiscard]] std::span<const std::byte> pass(LogReader& log, std::size_t bytes);
  [[nodiscard]] bool is_done() const noexcept { return next_ == plan_.copies.size(); }

 private:
  static constexpr std::size_t most_dimensions = 64;

  void start_copy();
  [[nodiscard]] CopyDimension row() const noexcept;
  void advance(std::int64_t elements);

  Plan plan_;
  std::int64_t element_bytes_;
  std::uint64_t bytes_ = 0;
  std::size_t next_ = 0;        ///< the current copy
  std::int64_t in_row_ = 0;     ///< finished elements of its row
  std::int64_t row_start_ = 0;  ///< bytes from the copy's first element to the row's first element
  std::array<std::int64_t, most_dimensions> index_{};  ///< position of the row
};

/// The number of bytes that a copy reads. Throws Error(NC_EIO) like source_range.
[[nodiscard]] std::uint64_t packed_bytes(const Plan& plan, const Copy& copy, std::size_t element_bytes);

/// The log bytes that a copy reads, if it reads every byte between its first and its last once. Otherwise an
/// empty range. Throws like source_range.
[[nodiscard]] SourceRange dense_source(const Plan& plan, const Copy& copy, std::size_t element_bytes);

/// Redirects copies of a plan to other data: a redirected copy reads the packed output of a Packer.
class Redirection {
 public:
  explicit Redirection(std::size_t element_bytes) : element_bytes_(element_bytes) {}
  /// Copy `copy` of the plan then reads packed elements at `log_offset` of `writer`.
  void redirect(Plan& plan, std::size_t copy, std::uint32_t writer, std::uint64_t log_offset);
  /// Merges copies that have become neighbours.
  [[nodiscard]] static Plan simplify(Plan plan);

 private:
  std::size_t element_bytes_;
};

}  // namespace sluice::replay
