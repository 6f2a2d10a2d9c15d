#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/types.hpp"
#include "sluice/matcher/piece.hpp"

namespace sluice::replay {

/// One dimension of a strided copy; distances in bytes in the source (write log), in elements in the destination (dense array of the read call).
struct CopyDimension {
  std::int64_t count = 0;
  std::int64_t source_step_bytes = 0;
  std::int64_t destination_step = 0;
};

/// One strided copy: from the log of `writer`, first element at `log_offset`, to element `destination` of the dense destination. Dimensions
/// [first_dimension, first_dimension + dimensions) of Plan::dimensions, slowest first, neighbours coalesced; no dimension means one element.
struct Copy {
  std::uint32_t writer = 0;
  std::uint16_t dimensions = 0;
  bool is_fill = false;  ///< no source: write the fill value
  std::uint32_t first_dimension = 0;
  std::uint64_t log_offset = 0;
  std::int64_t destination = 0;
};

/// The compiled pieces of one read access (one dense destination: a get, or a whole varn list).
/// A copy of one dimension whose source and destination are contiguous may be the merger of several requests, and so may cross segments; no other copy does.
struct Plan {
  bool needs_fill = false;  ///< fill the whole destination first
  std::int64_t elements = 0;
  std::vector<Copy> copies;  ///< in the order in which they must be made
  std::vector<CopyDimension> dimensions;
};

/// Compiles pieces into a plan; call add() once for each hyperslab of the access, in order.
class PlanBuilder {
 public:
  explicit PlanBuilder(std::size_t element_bytes);
  /// `pieces` in ascending sequence; `covered` as WriteIndex::match returned it. Merges with the copies before where source and destination continue.
  void add(const formats::HyperslabView& read, std::span<const matcher::Piece> pieces, bool covered);
  [[nodiscard]] Plan take();

 private:
  std::size_t element_bytes_;
  Plan plan_;
};

/// Appends the encoding of a plan (8-byte little-endian words) / decodes it. decode throws Error(NC_EIO) when damaged and moves `position` on.
void encode(const Plan& plan, std::vector<std::byte>& out);
[[nodiscard]] Plan decode_plan(std::span<const std::byte> bytes, std::size_t& position);

/// Where log data is in this process's memory. Implemented over mapped segments.
class LogReader {
 public:
  virtual ~LogReader() = default;
  /// Contiguous bytes of writer's log from log_offset on, at least one, at most to the end of that segment; empty when there are none (then NC_EIO).
  [[nodiscard]] virtual std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) = 0;
};

/// What a plan's execution converts between.
struct Conversion {
  formats::Type external = formats::Type::nat;  ///< type in the log, native byte order
  formats::Type memory = formats::Type::nat;    ///< type of the destination
  bool byte_is_unsigned = false;                ///< convert.hpp
  const void* fill = nullptr;                   ///< one element of the external type
};

/// Runs the copies into `destination` (plan.elements elements of conversion.memory). Bounds are checked on both sides: Error(NC_EIO).
/// Returns NC_NOERR or NC_ERANGE.
int execute(const Plan& plan, LogReader& log, const Conversion& conversion, void* destination);

}  // namespace sluice::replay
