#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/matcher/piece.hpp"

namespace sluice::matcher {

/// One write request of one variable, as the index takes it. The spans are copied.
struct WriteRequest {
  std::uint32_t writer = 0;      ///< index of the write log (process) within the step
  std::uint64_t sequence = 0;    ///< later ones win
  std::uint64_t log_offset = 0;  ///< bytes
  bool is_fill = false;          ///< the box reads as the fill value
  formats::HyperslabView box;
};

/// What the pieces of a read are together.
struct Match {
  /// They hold every element, so that no fill is needed beneath them. False may also mean that they overlap
  /// in a way that takes too long to tell.
  bool is_covered = false;
  /// Pieces of different writers may overlap: which of them wins was decided by the clock, and may be another
  /// one when the same requests are made again.
  bool depends_on_clock = false;
};

/// Receives pieces one by one; each holds until the call returns.
using PieceSink = std::function<void(const Piece&)>;

/// Finds the write requests of one variable that overlap a read request. Built by appending; indexes what is
/// new in bulk at the next match, so that a published step is loaded once and a growing one costs O(log)
/// levels (logarithmic method). Costs: O(w log w) to load, O(log w + pieces) per read for few large boxes and
/// for very many tiny runs; less for reads in ascending order. A request of one element takes 44 bytes,
/// others at most 24 and 24 per dimension.
class WriteIndex {
 public:
  /// `dimensions`: of the variable; `element_bytes`: size of its external type.
  WriteIndex(int dimensions, std::size_t element_bytes);
  ~WriteIndex();
  WriteIndex(WriteIndex&&) noexcept;
  WriteIndex& operator=(WriteIndex&&) noexcept;

  /// Boxes with a zero count are ignored. Throws Error(NC_EIO) when the box has not `dimensions` dimensions,
  /// is not sound (box.hpp), or its data's log offsets cannot be computed with.
  void add(const WriteRequest& request);
  /// How many requests were added (without ignored ones).
  [[nodiscard]] std::size_t size() const noexcept;

  /// Appends the pieces of `read`, in ascending order of sequence and of appending (so that copying in order
  /// lets the last write win); those that a later one hides altogether may be left out. Throws Error(NC_EIO)
  /// for a read that is not sound.
  Match match(const formats::HyperslabView& read, std::vector<Piece>& pieces);
  /// The same without taking memory for all pieces at once.
  Match match(const formats::HyperslabView& read, const PieceSink& sink);

  /// Whether every element of `read` has been put, exactly. A fill is no put: who waits for data waits on.
  /// Throws Error(NC_EIO) for a read that is not sound.
  [[nodiscard]] bool is_put(const formats::HyperslabView& read);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::matcher
