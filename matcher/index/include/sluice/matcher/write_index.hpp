#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/matcher/piece.hpp"

namespace sluice::matcher {

/// One write request of one variable. The index copies the spans.
struct WriteRequest {
  std::uint32_t writer = 0;      ///< index of the write log (process) within the step
  std::uint64_t sequence = 0;    ///< later requests win
  std::uint64_t log_offset = 0;  ///< bytes
  bool is_fill = false;          ///< the box reads as the fill value
  formats::HyperslabView box;
};

/// Properties of all pieces of a read together.
struct Match {
  /// The pieces hold every element, so no fill is needed beneath them. May be false for complicated overlaps,
  /// where an exact answer would take too long.
  bool is_covered = false;
  /// Pieces of different writers may overlap. The clock decided the winner, so another piece may win when the
  /// same requests are made again.
  bool depends_on_clock = false;
};

/// Receives pieces one by one. A piece is valid until the call returns.
using PieceSink = std::function<void(const Piece&)>;

/// Finds the write requests of one variable that overlap a read request. add() only appends; the next match()
/// indexes the new requests in bulk. A published step is thus loaded once, and a growing step has O(log)
/// levels (logarithmic method).
/// Costs: O(w log w) to load. A read costs O(log w + pieces), for few large boxes and for very many tiny
/// runs; reads in ascending order cost less. A request of one element takes 44 bytes. Other requests take at
/// most 24 bytes and 24 more per dimension.
class WriteIndex {
 public:
  /// `dimensions`: the number of dimensions of the variable. `element_bytes`: the size of its external type.
  WriteIndex(int dimensions, std::size_t element_bytes);
  ~WriteIndex();
  WriteIndex(WriteIndex&&) noexcept;
  WriteIndex& operator=(WriteIndex&&) noexcept;

  /// Ignores boxes with a zero count. Throws Error(NC_EIO) when the box does not have `dimensions`
  /// dimensions, is not sound (box.hpp), or has log offsets that would overflow.
  void add(const WriteRequest& request);
  /// The number of added requests, without the ignored ones.
  [[nodiscard]] std::size_t size() const noexcept;

  /// Appends the pieces of `read`, in ascending order of sequence and of appending. When a caller copies the
  /// pieces in this order, the last write wins. A piece that a later one hides completely may be missing.
  /// Throws Error(NC_EIO) for a read that is not sound.
  Match match(const formats::HyperslabView& read, std::vector<Piece>& pieces);
  /// The same, but does not hold all pieces in memory at once.
  Match match(const formats::HyperslabView& read, const PieceSink& sink);

  /// Whether every element of `read` has been put. The answer is exact. A fill is not a put: a get that waits
  /// for data keeps waiting. Throws Error(NC_EIO) for a read that is not sound.
  [[nodiscard]] bool is_put(const formats::HyperslabView& read);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::matcher
