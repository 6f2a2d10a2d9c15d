#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/types.hpp"
#include "sluice/matcher/log_shift.hpp"
#include "sluice/matcher/piece.hpp"
#include "sluice/matcher/write_index.hpp"

namespace sluice::replay {

/// One dimension of a strided copy; distances in bytes in the source (write log), in elements in the
/// destination (dense array of the read call). Steps may be negative.
struct CopyDimension {
  std::int64_t count = 0;
  std::int64_t source_step_bytes = 0;
  std::int64_t destination_step = 0;
  bool operator==(const CopyDimension&) const = default;
};

/// One strided copy: from the log of `writer`, first element at `log_offset`, to element `destination` of the
/// dense destination. Dimensions [first_dimension, first_dimension + dimensions) of Plan::dimensions, slowest
/// first, neighbours coalesced; no dimension means one element. Copies may share dimensions.
struct Copy {
  std::uint32_t writer = 0;
  std::uint16_t dimensions = 0;
  bool is_fill = false;  ///< no source: write the fill value
  std::uint32_t first_dimension = 0;
  std::uint64_t log_offset = 0;
  std::int64_t destination = 0;
};

/// The compiled pieces of one read access (one dense destination: a get, or a whole varn list).
/// A copy may be the merger of several requests, and so may cross segments; an element does not.
struct Plan {
  bool needs_fill = false;        ///< fill the whole destination first
  bool depends_on_clock = false;  ///< matcher::Match; not to be used for another step
  std::int64_t elements = 0;
  std::vector<Copy> copies;  ///< in the order in which they must be made
  std::vector<CopyDimension> dimensions;

  [[nodiscard]] std::span<const CopyDimension> dimensions_of(const Copy& copy) const noexcept {
    return std::span(dimensions).subspan(copy.first_dimension, copy.dimensions);
  }
};

/// The least range of log offsets that holds all bytes that a copy (not a fill) reads: [first, end). Throws
/// Error(NC_EIO) when they cannot be computed with.
struct SourceRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};
[[nodiscard]] SourceRange source_range(const Plan& plan, const Copy& copy, std::size_t element_bytes);

/// Log offsets [first, end) of a writer.
struct PlanSource {
  std::uint32_t writer = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  bool operator==(const PlanSource&) const = default;
};

/// What a plan reads: ascending, apart from one another. Throws as source_range().
[[nodiscard]] std::vector<PlanSource> sources_of(const Plan& plan, std::size_t element_bytes);
/// Makes one of sources of a writer that are no further apart than `largest_gap`.
void join_sources(std::vector<PlanSource>& sources, std::uint64_t largest_gap);

/// The distance of a writer's log offsets; 0 for one that `shifts` (ascending writers) do not name.
[[nodiscard]] std::int64_t shift_of(std::span<const matcher::LogShift> shifts, std::uint32_t writer) noexcept;
/// Makes a plan of the same requests for another variable of it: writers' log offsets are moved.
void move_logs(Plan& plan, std::span<const matcher::LogShift> shifts) noexcept;

/// A part of one hyperslab of an access, which another matcher may know nothing of: the copies of its plan
/// reach the destination of the whole access.
struct PartOfRead {
  formats::HyperslabView read;   ///< whole
  int dimension = -1;            ///< in which the part is less than the whole; -1: none
  std::int64_t first = 0;        ///< in that dimension: which of the read's elements the part begins with,
  std::int64_t count = 0;        ///< and how many it has
  std::int64_t destination = 0;  ///< where the whole hyperslab begins in the destination of the access
};

/// Adds the copies of another part of the same access. Parts have no element of the destination in common.
void join(Plan& plan, const Plan& part);

/// Compiles pieces into a plan; add each hyperslab of the access, in order. Coalesces dimensions, merges
/// neighbouring copies where source and destination continue, and folds copies at regular distances into one.
class PlanBuilder {
 public:
  /// `element_bytes`: of the external type.
  explicit PlanBuilder(std::size_t element_bytes);
  /// `pieces` in ascending sequence; `match` as WriteIndex::match returned it.
  void add(const formats::HyperslabView& read, std::span<const matcher::Piece> pieces,
           const matcher::Match& match);
  /// Matches `read` and adds it, without taking memory for all pieces at once.
  void add(const formats::HyperslabView& read, matcher::WriteIndex& index);
  /// The same for all hyperslabs of an access. Very many are looked up in ascending order, whatever their
  /// order is.
  void add(std::span<const formats::HyperslabView> reads, matcher::WriteIndex& index);
  /// Matches a part of a read. Parts are added to a builder of their own, in any order.
  void add(const PartOfRead& part, matcher::WriteIndex& index);
  /// The plan; the builder is empty again.
  [[nodiscard]] Plan take();

 private:
  void add_piece(const formats::HyperslabView& read, const matcher::Piece& piece);
  void add_in_order(std::span<const formats::HyperslabView> reads, std::span<const std::uint32_t> order,
                    matcher::WriteIndex& index);
  /// The copy of a piece, with its dimensions in piece_dimensions_. `destination`: where the read begins.
  [[nodiscard]] Copy compile(const formats::HyperslabView& read, const matcher::Piece& piece,
                             std::int64_t destination);
  void append(Copy copy, std::span<const CopyDimension> dimensions);
  void finish(const formats::HyperslabView& read, const matcher::Match& match);
  /// Makes the last copy longer when both are runs without gaps and the second goes on where the first ends.
  [[nodiscard]] bool merge_with_last(const Copy& copy, std::span<const CopyDimension> dimensions);
  [[nodiscard]] bool is_run(std::span<const CopyDimension> dimensions, bool is_fill) const noexcept;

  std::int64_t element_bytes_;
  Plan plan_;
  std::vector<CopyDimension> piece_dimensions_;  ///< scratch
};

/// Appends the encoding of a plan (8-byte little-endian words; docs/formats/plan.md) / decodes it. decode
/// throws Error(NC_EIO) when damaged and moves `position` on.
void encode(const Plan& plan, std::vector<std::byte>& out);
[[nodiscard]] Plan decode_plan(std::span<const std::byte> bytes, std::size_t& position);

/// Where log data is in this process's memory. Implemented over mapped segments.
class LogReader {
 public:
  virtual ~LogReader() = default;
  /// Contiguous bytes of writer's log from log_offset on, at least one, at most to the end of that segment;
  /// empty when there are none (then NC_EIO).
  [[nodiscard]] virtual std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) = 0;
};

/// Logs as a plan sees them that was made for other ones: writers are `writer_shift` further on in the list
/// (modulo 2^32), and what was at a log offset is further on by `shifts`. Refers to its arguments.
class MovedLogs final : public LogReader {
 public:
  MovedLogs(LogReader& logs, std::uint32_t writer_shift, std::span<const matcher::LogShift> shifts) noexcept
      : logs_(logs), writer_shift_(writer_shift), shifts_(shifts) {}
  [[nodiscard]] std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    const std::int64_t shift = shift_of(shifts_, writer);
    return logs_.at(writer + writer_shift_, log_offset + static_cast<std::uint64_t>(shift));
  }

 private:
  LogReader& logs_;
  std::uint32_t writer_shift_;
  std::span<const matcher::LogShift> shifts_;
};

/// What a plan's execution converts between.
struct Conversion {
  formats::Type external = formats::Type::nat;  ///< type in the log, native byte order
  formats::Type memory = formats::Type::nat;    ///< type of the destination
  bool byte_is_unsigned = false;                ///< convert.hpp
  const void* fill = nullptr;  ///< one element of the external type; null: its default fill value
};

/// Runs the copies into `destination`, which holds plan.elements elements of conversion.memory: compare that
/// number with the access's own before. Bounds are checked on both sides: Error(NC_EIO). Returns NC_NOERR, or
/// NC_ERANGE when an element that is there in the end did not fit the memory type.
int execute(const Plan& plan, LogReader& log, const Conversion& conversion, void* destination);

}  // namespace sluice::replay
