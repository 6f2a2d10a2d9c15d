#pragma once
#include <cstdint>
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

/// Finds the write requests of one variable that overlap a read request. Built by appending; indexes what is new in bulk at the next match, so that a
/// published step is loaded once and a growing one costs O(log) levels (logarithmic method). Costs: O(w log w) to load, O(log w + pieces) per read for
/// few large boxes and for very many tiny runs.
class WriteIndex {
 public:
  /// `dimensions`: of the variable; `element_bytes`: size of its external type.
  WriteIndex(int dimensions, std::size_t element_bytes);
  ~WriteIndex();
  WriteIndex(WriteIndex&&) noexcept;
  WriteIndex& operator=(WriteIndex&&) noexcept;

  /// The box has `dimensions` entries. Boxes with a zero count are ignored.
  void add(const WriteRequest& request);
  [[nodiscard]] std::size_t size() const noexcept;

  /// Appends the pieces of `read`, in ascending order of sequence (so that copying in order lets the last write win).
  /// Returns true when the pieces cover every element of `read` and do not overlap: no fill is needed beneath them.
  bool match(const formats::HyperslabView& read, std::vector<Piece>& pieces);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::matcher
