#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sluice/formats/placement.hpp"
#include "sluice/storage/access.hpp"
#include "sluice/storage/element_codec.hpp"
#include "sluice/storage/extents.hpp"

namespace sluice::storage {

/// The accesses of one call on one rank, as batches of extents. Batches bound the memory for any number of
/// runs in a selection. Batches keep the order of the accesses, so that later puts take precedence over all
/// batches.
class FileRequest {
 public:
  enum class Kind { put, get };

  /// Keeps references to all arguments.
  FileRequest(const formats::Header& header, const formats::Placement& placement, std::span<Access> accesses,
              Kind kind);

  /// Makes the next batch of about `limit` extents; the batch is empty after the last one. The extents of a
  /// put are disjoint.
  void next_batch(std::size_t limit);
  /// Drops the batch and all later batches.
  void give_up() noexcept;
  [[nodiscard]] bool has_more() const noexcept { return access_ < accesses_.size(); }

  /// The number of records that the dataset has after all puts; 0 without a record dimension.
  [[nodiscard]] std::int64_t record_end() const;

  /// The batch, sorted by offset.
  [[nodiscard]] std::span<const Extent> extents() const noexcept { return extents_; }
  /// The range from the first to the last byte of the batch.
  [[nodiscard]] FileRange hull() const noexcept;
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// The runs of the batch after gaps of at most `gap_bytes` are bridged: their number and bytes.
  struct Runs {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };
  [[nodiscard]] Runs runs(std::int64_t gap_bytes) const noexcept;
  /// The extents that may have an element that begins in `range`.
  [[nodiscard]] std::span<const Extent> extents_in(const FileRange& range) const;

  [[nodiscard]] ElementCodec& codec(const Extent& extent) noexcept {
    return codecs_[static_cast<std::size_t>(extent.access)];
  }

 private:
  /// Appends the slab, or as many of its rows as give about `capacity` extents; `limit` as in next_batch.
  void append_slab(const formats::VariablePlace& place, std::size_t limit, std::size_t capacity);
  void append_rows(const formats::VariablePlace& place, std::size_t limit, std::size_t capacity);
  void append_run(const formats::FileRun& run, std::int64_t element_bytes);
  void make_room(std::int64_t extents);
  void finish_batch();

  /// The sorted extents of an access, kept for other accesses with the same list of hyperslabs.
  struct Pattern {
    const formats::HyperslabView* slabs = nullptr;
    std::unique_ptr<formats::VariablePlace> place;
    std::vector<Extent> extents;
    std::int64_t bytes = 0;
  };
  [[nodiscard]] bool is_list_named_again() const noexcept;
  /// Appends the next access by a pattern; returns false if no pattern fits.
  bool append_by_pattern(const formats::VariablePlace& place);
  /// Keeps as a pattern the extents that the last access has appended since `first`.
  void keep_pattern(std::unique_ptr<formats::VariablePlace> place, std::size_t first);

  const formats::Header& header_;
  const formats::Placement& placement_;
  std::span<Access> accesses_;
  Kind kind_;
  std::vector<ElementCodec> codecs_;

  // The next element: a slab of an access, and the number of finished rows of the slab.
  std::size_t access_ = 0;
  std::size_t slab_ = 0;
  std::int64_t row_ = 0;
  std::int64_t element_ = 0;  ///< in the access's buffer

  std::vector<Extent> extents_;
  std::vector<std::int64_t>
      reach_;  ///< the largest end up to each extent; empty while the extents are disjoint
  std::vector<formats::FileRun> runs_;
  std::int64_t bytes_ = 0;
  bool is_ascending_ = true;       ///< the batch was made in ascending order, without overlaps
  std::vector<Pattern> patterns_;  ///< a few; a new pattern replaces the oldest
  std::size_t oldest_pattern_ = 0;
};

}  // namespace sluice::storage
