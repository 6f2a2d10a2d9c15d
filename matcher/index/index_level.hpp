#pragma once
#include <cstdint>
#include <vector>

#include "box_list.hpp"
#include "box_tree.hpp"
#include "linearisation.hpp"
#include "run_tree.hpp"
#include "sluice/matcher/piece.hpp"

namespace sluice::matcher {

/// The number of elements that two boxes of the same variable have in common.
[[nodiscard]] std::int64_t count_common(const formats::HyperslabView& a,
                                        const formats::HyperslabView& b) noexcept;

/// A write request that overlaps a read.
struct Hit {
  std::uint64_t sequence = 0;
  std::uint32_t order = 0;
  std::uint32_t index = 0;  ///< index in the runs or the boxes of its level
  std::uint16_t level = 0;
  bool is_run = false;
  bool covers_read = false;  ///< without other hits
  bool is_same_box = false;  ///< has exactly the elements of the read, in the same order
};

/// All hits of a read.
struct Hits {
  std::vector<Hit> list;
  std::int64_t read_elements = 0;
  std::int64_t elements = 0;  ///< sum over the hits; stops growing above read_elements
  bool may_overlap = false;   ///< hits may not be disjoint
};

/// Write requests indexed in bulk. Requests that are one contiguous run in row-major order are in a tree of
/// runs (tiny requests, whole rows). All others are in a tree of boxes.
class IndexLevel {
 public:
  explicit IndexLevel(const BoxList& boxes);

  [[nodiscard]] std::size_t size() const noexcept { return runs_.size() + boxes_.boxes().size(); }
  /// Appends the hits of a read that has elements. `number` becomes the level of the hits.
  void collect(const formats::HyperslabView& read, std::uint16_t number, Hits& hits);
  /// Quick test for reads in the order of the writes. It compares the read with the request that was added
  /// after the request of the last call, or of the last note_hit(). Appends the hit when that request has the
  /// elements of the read, and no other request overlaps the read. Returns false otherwise.
  [[nodiscard]] bool collect_next(const formats::HyperslabView& read, std::uint16_t number, Hits& hits);
  void note_hit(const Hit& hit) noexcept {
    follows_ = hit.order == next_order_;
    next_order_ = hit.order + std::uint64_t{1};
  }
  [[nodiscard]] const RequestId& id(const Hit& hit) const noexcept {
    return hit.is_run ? runs_.id(hit.index) : boxes_.boxes().id(hit.index);
  }
  /// The request's box. Its numbers are in `start` and `count`, or in this level.
  [[nodiscard]] formats::HyperslabView box(const Hit& hit, Indexes& start, Indexes& count) const;
  /// Computes the overlap of a hit of this level and the read that it was collected for.
  void describe(const Hit& hit, const formats::HyperslabView& read, Piece& piece) const;
  /// Appends all requests.
  void append_to(BoxList& list) const;

 private:
  void order_runs();
  void collect_runs(const formats::HyperslabView& read, std::uint16_t number, Hits& hits);
  void collect_boxes(const formats::HyperslabView& read, std::uint16_t number, Hits& hits) const;
  [[nodiscard]] std::int64_t common_elements(const formats::HyperslabView& read, PositionCursor& cursor,
                                             const Interval& run);

  Linearisation linearisation_;
  RunTree runs_;
  BoxTree boxes_;
  std::uint32_t first_order_ = 0;        ///< of all requests
  std::vector<std::uint32_t> by_order_;  ///< the positions of the runs, in the order of adding; empty
                                         ///< when there are boxes, or runs overlap
  std::uint64_t next_order_ = 0;         ///< the position for collect_next()
  bool follows_ = false;     ///< the last hit was the next request; otherwise a look is not worth it
  bool is_ordered_ = false;  ///< by_order_ has been made, if possible
  Indexes start_, count_;    ///< scratch
};

}  // namespace sluice::matcher
