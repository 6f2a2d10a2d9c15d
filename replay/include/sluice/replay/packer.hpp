#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sluice/replay/plan.hpp"

namespace sluice::replay {

/// Packs what the copies of a plan read, one copy behind the other, each in row-major order of its dimensions
/// and without gaps; as much at a time as there is room for. For data that goes to another node. Fills are
/// left out.
class Packer {
 public:
  /// Throws Error(NC_EIO) for a plan whose numbers cannot be computed with.
  Packer(Plan plan, std::size_t element_bytes);

  /// All bytes that it packs.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Packs the next whole elements that `room` can hold; returns their bytes, 0 when there are no more (or no
  /// room for one). Throws Error(NC_EIO) when the log has no data where the plan reads.
  [[nodiscard]] std::size_t pack(LogReader& log, std::span<std::byte> room);
  /// The next `bytes` bytes where they are in the log, if they are there as they would be packed, in one
  /// piece of memory: then they count as packed. Empty otherwise. Throws as pack().
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
  std::size_t next_ = 0;        ///< the copy at hand
  std::int64_t in_row_ = 0;     ///< elements of its row that are done
  std::int64_t row_start_ = 0;  ///< bytes from the copy's first element to the first of the row
  std::array<std::int64_t, most_dimensions> index_{};  ///< of the row
};

/// Bytes of the elements that a copy reads. Throws Error(NC_EIO) as source_range.
[[nodiscard]] std::uint64_t packed_bytes(const Plan& plan, const Copy& copy, std::size_t element_bytes);

/// The bytes of the log that a copy reads when it reads all of them between its first and its last; an empty
/// range when it leaves gaps or reads some twice. Throws as source_range.
[[nodiscard]] SourceRange dense_source(const Plan& plan, const Copy& copy, std::size_t element_bytes);

/// Where copies of a plan find their data instead. Copies that are redirected read what a Packer made of
/// them.
class Redirection {
 public:
  explicit Redirection(std::size_t element_bytes) : element_bytes_(element_bytes) {}
  /// Copy `copy` of the plan now reads packed elements from `log_offset` of `writer` on.
  void redirect(Plan& plan, std::size_t copy, std::uint32_t writer, std::uint64_t log_offset);
  /// What is simpler now that neighbours are side by side.
  [[nodiscard]] static Plan simplify(Plan plan);

 private:
  std::size_t element_bytes_;
};

}  // namespace sluice::replay
