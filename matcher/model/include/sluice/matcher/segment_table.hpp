#pragma once
#include <array>
#include <boost/container/flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <map>

#include "sluice/matcher/ascending_map.hpp"
#include "sluice/matcher/matcher_place.hpp"
#include "sluice/matcher/number_column.hpp"

namespace sluice::matcher {

/// A client process in the registry; never reused for another process.
enum class ProcessId : std::uint64_t {};

/// What is known of the segments of a node, by their numbers. There may be very many, so those whose numbers
/// follow one another lie together: columns of their sizes, uses and processes, and bits.
class SegmentTable {
 public:
  /// What a segment is, or is not.
  enum class Mark : std::uint8_t {
    trimmed,  ///< what is behind the touched bytes does not count
    free,
    tainted,
    unmade,  ///< on disk, and not made yet
    image,
    landed,  ///< SegmentPool::note_inbound() was called, and no process has had the segment since
  };

 private:
  static constexpr std::size_t piece_size = NumberColumn::size;
  static constexpr std::size_t marks = 6;
  struct Piece {
    std::uint64_t present = 0;
    std::array<std::uint64_t, marks> marked{};
    NumberColumn bytes;
    NumberColumn touched_bytes;
    NumberColumn mapped_by;  ///< ProcessId of one of the processes; 0: none
    NumberColumn kind;       ///< what the id has beside node and number
    /// Further processes that have a segment mapped, by its place.
    std::map<std::size_t, boost::container::flat_set<ProcessId>> also_mapped_by;
  };

 public:
  /// One of the segments, while the table does not change.
  class Segment {
   public:
    Segment(Piece& piece, std::size_t place) noexcept : piece_(&piece), place_(place) {}

    [[nodiscard]] std::uint64_t bytes() const noexcept { return piece_->bytes.at(place_); }
    /// An upper bound, from earlier uses.
    [[nodiscard]] std::uint64_t touched_bytes() const noexcept { return piece_->touched_bytes.at(place_); }
    void set_touched_bytes(std::uint64_t bytes) noexcept { piece_->touched_bytes.set(place_, bytes); }
    [[nodiscard]] bool is(Mark mark) const noexcept { return ((word(mark) >> place_) & 1U) != 0; }
    void set(Mark mark, bool is_so) noexcept {
      word(mark) = (word(mark) & ~(std::uint64_t{1} << place_)) | (std::uint64_t{is_so} << place_);
    }
    [[nodiscard]] std::uint64_t spared_bytes() const noexcept {
      return is(Mark::trimmed) ? bytes() - touched_bytes() : 0;
    }
    [[nodiscard]] std::uint64_t charged_bytes() const noexcept { return bytes() - spared_bytes(); }

    void note_mapped(ProcessId process);
    [[nodiscard]] bool is_mapped_by(ProcessId process) const noexcept;
    /// Returns whether the process had it mapped.
    bool forget(ProcessId process) noexcept;

   private:
    [[nodiscard]] ProcessId first_mapped_by() const noexcept {
      return static_cast<ProcessId>(piece_->mapped_by.at(place_));
    }
    [[nodiscard]] std::uint64_t& word(Mark mark) const noexcept {
      return piece_->marked[static_cast<std::size_t>(mark)];
    }
    Piece* piece_;
    std::size_t place_;
  };

  explicit SegmentTable(std::uint32_t node) noexcept : node_(node) {}

  /// The id is new, and of this node.
  Segment add(SegmentId id, std::uint64_t bytes);
  [[nodiscard]] bool contains(SegmentId id) const noexcept;
  /// Throws std::out_of_range when there is no such segment.
  [[nodiscard]] Segment at(SegmentId id) const;
  void erase(SegmentId id);
  /// Calls `visit` with the id of each segment, and the segment.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (auto& entry : pieces_) {
      for (std::size_t place = 0; place < piece_size; ++place) {
        if (((entry.value.present >> place) & 1U) == 0) continue;
        visit(id_of(entry.value, entry.key * piece_size + place), Segment(entry.value, place));
      }
    }
  }

 private:
  [[nodiscard]] static std::size_t place_of(SegmentId id) noexcept { return number_of(id) % piece_size; }
  [[nodiscard]] SegmentId id_of(const Piece& piece, std::uint64_t number) const noexcept;
  [[nodiscard]] Piece* piece_of(SegmentId id) const noexcept;

  std::uint32_t node_;
  mutable AscendingMap<std::uint64_t, Piece> pieces_;  ///< a Segment changes what it stands for
  /// Pieces that were looked for last: segments that follow one another are, tables and data in turn. Null:
  /// the pieces may have moved.
  struct LastPiece {
    std::uint64_t number = 0;
    Piece* piece = nullptr;
  };
  mutable std::array<LastPiece, 4> last_;
};

}  // namespace sluice::matcher
