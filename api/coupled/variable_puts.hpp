#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/runtime/write_log.hpp"
#include "sluice/storage/access.hpp"

namespace sluice::api {

/// What one process has put into one variable in a step that nobody else reads yet, and where that is in the
/// log. A log keeps all puts: so a put of the same elements takes the place of the one before, and the places
/// of puts that a later one covers are given again. Nothing is noted before the process has put more elements
/// than its share of the variable, because until then there need be no such puts.
class VariablePuts {
 public:
  using Place = runtime::WriteLog::Reservation;

  /// Counts the elements of a put. Returns whether the other functions are to be called for it. `processes`:
  /// that share the variable.
  [[nodiscard]] bool count(const formats::Header& header, const storage::Access& access, int processes);
  /// The place of a put of just these elements that no later one has changed; else nothing.
  [[nodiscard]] std::optional<Place> find(const formats::HyperslabView& box) const;
  /// A place of at least `bytes`, and not many more, from which nobody reads any more.
  [[nodiscard]] std::optional<Place> take_free(std::uint64_t bytes);
  /// The box was put, and its entry is in the request table. `place`: null for a put that is not to be found.
  void add(const formats::HyperslabView& box, const Place* place);
  /// Readers may come: all that was put stays.
  void forget() noexcept;
  [[nodiscard]] std::size_t noted() const noexcept { return puts_.size(); }

 private:
  struct Put {
    std::vector<std::int64_t> box;  ///< for each dimension start, count and stride
    std::int64_t elements = 0;
    Place place;
    bool is_changed = false;  ///< a later put has some of its elements
  };
  /// The axis on which a put takes the least part, the binary logarithm of what it takes there, and its first
  /// place. Axis 0 is the row-major order of all elements, the others are the dimensions.
  using Key = std::array<std::int64_t, 3>;

  [[nodiscard]] bool find_range(const formats::HyperslabView& box, std::size_t axis, std::int64_t* first,
                                std::int64_t* last) const;
  [[nodiscard]] std::optional<Key> key_of(const formats::HyperslabView& box) const;
  void give_up() noexcept;

  static constexpr std::int64_t most_elements = std::int64_t{1} << 61;
  static constexpr std::size_t most_puts = std::size_t{1} << 16;
  static constexpr std::size_t most_looks = std::size_t{1} << 14;  // then many puts lie across one

  std::int64_t elements_ = 0;  ///< that were put
  std::int64_t enough_ = 0;    ///< elements from which on puts are noted
  /// Elements of one step in each dimension; empty: nothing is noted yet.
  std::vector<std::int64_t> row_sizes_;
  std::vector<std::int64_t> axis_sizes_;
  bool is_given_up_ = false;
  std::multimap<Key, Put> puts_;
  std::set<std::array<std::int64_t, 2>> levels_;  ///< the first two numbers of the keys
  std::multimap<std::uint64_t, Place> free_;      ///< by their sizes
};

}  // namespace sluice::api
