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

/// One dimension of a strided copy. Distances are in bytes in the source (write log), and in elements in the
/// destination (dense array of the read call). Steps may be negative.
struct CopyDimension {
  std::int64_t count = 0;
  std::int64_t source_step_bytes = 0;
  std::int64_t destination_step = 0;
  bool operator==(const CopyDimension&) const = default;
};

/// One strided copy from `log_offset` in the log of `writer` to element `destination` of the dense
/// destination. Its dimensions are [first_dimension, first_dimension + dimensions) of Plan::dimensions. The
/// slowest dimension comes first, and neighbours are merged. Without dimensions it copies one element. Copies
/// may share dimensions.
struct Copy {
  std::uint32_t writer = 0;
  std::uint16_t dimensions = 0;
  bool is_fill = false;  ///< no source: write the fill value
  std::uint32_t first_dimension = 0;
  std::uint64_t log_offset = 0;
  std::int64_t destination = 0;
};

/// The compiled pieces of one read access with one dense destination: a get, or a whole varn list. A copy can
/// combine several requests, so a copy may cross segments; an element does not.
struct Plan {
  bool needs_fill = false;        ///< fill the whole destination first
  bool depends_on_clock = false;  ///< matcher::Match; not valid for another step
  std::int64_t elements = 0;
  std::vector<Copy> copies;  ///< in execution order
  std::vector<CopyDimension> dimensions;

  [[nodiscard]] std::span<const CopyDimension> dimensions_of(const Copy& copy) const noexcept {
    return std::span(dimensions).subspan(copy.first_dimension, copy.dimensions);
  }
};

/// The smallest range of log offsets [first, end) that contains all bytes that a copy reads. The copy must
/// not be a fill. Throws Error(NC_EIO) if the offsets overflow.
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

/// The ranges that a plan reads: ascending and disjoint. Throws the same errors as source_range().
[[nodiscard]] std::vector<PlanSource> sources_of(const Plan& plan, std::size_t element_bytes);
/// Joins the sources of a writer whose distance is at most `largest_gap`.
void join_sources(std::vector<PlanSource>& sources, std::uint64_t largest_gap);

/// The shift of a writer's log offsets. Returns 0 for a writer that `shifts` (ascending writers) does not
/// contain.
[[nodiscard]] std::int64_t shift_of(std::span<const matcher::LogShift> shifts, std::uint32_t writer) noexcept;
/// Adapts a plan to the same requests of another variable: shifts the writers' log offsets.
void move_logs(Plan& plan, std::span<const matcher::LogShift> shifts) noexcept;

/// A part of one hyperslab of an access. The matcher of this part may not know the other parts. The part's
/// copies use positions in the destination of the whole access.
struct PartOfRead {
  formats::HyperslabView read;   ///< the whole hyperslab
  int dimension = -1;            ///< dimension in which the part is smaller than the whole; -1: none
  std::int64_t first = 0;        ///< in this dimension: index of the part's first element,
  std::int64_t count = 0;        ///< and number of elements
  std::int64_t destination = 0;  ///< start of the whole hyperslab in the access's destination
};

/// Adds the copies of another part of the same access. The parts must not share elements of the destination.
void join(Plan& plan, const Plan& part);

/// Compiles pieces into a plan. The caller adds the hyperslabs of an access in order. The builder merges
/// dimensions, merges adjacent copies, and folds copies at regular distances into one.
class PlanBuilder {
 public:
  /// `element_bytes`: size of the external type.
  explicit PlanBuilder(std::size_t element_bytes);
  /// `pieces` in ascending sequence; `match` is the result of WriteIndex::match.
  void add(const formats::HyperslabView& read, std::span<const matcher::Piece> pieces,
           const matcher::Match& match);
  /// Matches `read` and adds the pieces, without memory for all pieces at once.
  void add(const formats::HyperslabView& read, matcher::WriteIndex& index);
  /// Same, for all hyperslabs of an access. A very long list is looked up in ascending order, whatever its
  /// own order is.
  void add(std::span<const formats::HyperslabView> reads, matcher::WriteIndex& index);
  /// Matches a part of a read and adds it. Parts need a builder of their own; their order is free.
  void add(const PartOfRead& part, matcher::WriteIndex& index);
  /// Returns the plan and empties the builder.
  [[nodiscard]] Plan take();

 private:
  void add_piece(const formats::HyperslabView& read, const matcher::Piece& piece);
  void add_in_order(std::span<const formats::HyperslabView> reads, std::span<const std::uint32_t> order,
                    matcher::WriteIndex& index);
  /// The copy for a piece, with its dimensions in piece_dimensions_. `destination`: start of the read.
  [[nodiscard]] Copy compile(const formats::HyperslabView& read, const matcher::Piece& piece,
                             std::int64_t destination);
  void append(Copy copy, std::span<const CopyDimension> dimensions);
  void finish(const formats::HyperslabView& read, const matcher::Match& match);
  /// Extends the last copy if both copies are runs without gaps and the second continues the first.
  [[nodiscard]] bool merge_with_last(const Copy& copy, std::span<const CopyDimension> dimensions);
  [[nodiscard]] bool is_run(std::span<const CopyDimension> dimensions, bool is_fill) const noexcept;

  std::int64_t element_bytes_;
  Plan plan_;
  std::vector<CopyDimension> piece_dimensions_;  ///< temporary storage
};

/// encode appends the encoding of a plan (8-byte little-endian words; docs/formats/plan.md). decode reads a
/// plan and advances `position`; it throws Error(NC_EIO) if the encoding is damaged.
void encode(const Plan& plan, std::vector<std::byte>& out);
[[nodiscard]] Plan decode_plan(std::span<const std::byte> bytes, std::size_t& position);

/// Finds log data in this process's memory. The implementation uses mapped segments.
class LogReader {
 public:
  virtual ~LogReader() = default;
  /// Contiguous bytes of the writer's log from log_offset on: at least one byte, and at most the rest of that
  /// segment. Empty if there is no data; the caller then reports NC_EIO.
  [[nodiscard]] virtual std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) = 0;
};

/// Presents logs to a plan that was made for other logs. Writer numbers move by `writer_shift` (modulo 2^32),
/// and log offsets by `shifts`. Refers to its arguments.
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

/// The types and values that the execution of a plan converts.
struct Conversion {
  formats::Type external = formats::Type::nat;  ///< type in the log, native byte order
  formats::Type memory = formats::Type::nat;    ///< type of the destination
  bool byte_is_unsigned = false;                ///< see convert.hpp
  const void* fill = nullptr;  ///< one element of the external type; null: its default fill value
};

/// Runs the copies into `destination`, which has space for plan.elements elements of conversion.memory. The
/// caller must first compare this number with the access's own number. Checks the bounds on both sides:
/// Error(NC_EIO). Returns NC_NOERR, or NC_ERANGE if a final element does not fit the memory type. With more
/// threads than one, each fills a part of the destination, unless values are converted; one of them at a time
/// asks the LogReader.
int execute(const Plan& plan, LogReader& log, const Conversion& conversion, void* destination,
            int threads = 1);

}  // namespace sluice::replay
