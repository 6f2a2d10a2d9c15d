#pragma once
// Steps that bench/several_matchers.cpp matches, with request tables in the memory of several matchers.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cached_steps.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/runtime/protocol.hpp"
#include "support/exchange_world.hpp"

namespace sluice::bench {

/// Boxes with the same number of dimensions, flat: start and count of each box, one after the other.
class Boxes {
 public:
  explicit Boxes(std::size_t dimensions) : dimensions_(dimensions) {}
  void add(std::initializer_list<std::int64_t> start, std::initializer_list<std::int64_t> count);
  [[nodiscard]] std::vector<formats::HyperslabView> views() const;

 private:
  std::size_t dimensions_;
  std::vector<std::int64_t> numbers_;
};

/// Variables that are all written by the same boxes, and read by the same boxes.
struct Group {
  int first = 0, end = 0;         ///< variables
  std::vector<Boxes> of_process;  ///< parts of the writers, and also of the readers
  bool is_list = true;            ///< put as one list of boxes; otherwise each box separately
};

struct Case {
  std::string name;
  formats::Header header;
  std::vector<Group> groups;
  /// Maps reader `reader` to the writer whose data it reads.
  std::function<std::size_t(std::size_t reader)> part_of_reader;
  std::vector<Boxes> reads;  ///< if set, the boxes of each reader, for the first group's variables
};

/// The number of writers, and of readers.
inline constexpr std::size_t processes = 16;

/// `pieces` elements, each written and read separately, distributed in two shuffled orders.
[[nodiscard]] Case shuffled(std::size_t pieces);
/// E3SM's history by map_f_case_16p.nc: 387 variables. Every reader reads the data of the writer five ranks
/// ahead.
[[nodiscard]] Case climate(const std::string& map);

/// The published step of a case, in the memory of the writers' matchers.
class MatchingWorld {
 public:
  /// `what` must outlive this object.
  MatchingWorld(const Case& what, std::uint32_t nodes, std::uint32_t per_node);

  [[nodiscard]] std::uint32_t matchers() const { return static_cast<std::uint32_t>(memories_.size()); }
  [[nodiscard]] std::uint32_t rank_of(matcher::MatcherPlace place) const {
    return place.node * per_node_ + place.index;
  }
  [[nodiscard]] matcher::MatcherPlace place(std::uint32_t rank) const {
    return {rank / per_node_, rank % per_node_};
  }
  [[nodiscard]] std::uint32_t rank_of_process(std::size_t process) const {
    return static_cast<std::uint32_t>(process * matchers() / processes);
  }
  [[nodiscard]] test::RankMemory& memory(std::uint32_t rank) { return memories_[rank]; }
  [[nodiscard]] const runtime::StepViewPointer& view() const { return view_; }

  /// All reads of a reader, in one get.
  [[nodiscard]] runtime::Get get_of(std::size_t reader) const;

 private:
  void put(matcher::StepView& view, std::uint32_t writer);
  void write_table(matcher::StepView& view, std::uint32_t writer, std::vector<matcher::TableEntry>& entries,
                   std::uint64_t data_bytes);

  std::uint32_t per_node_;
  std::deque<test::RankMemory> memories_;
  const Case& step_;
  runtime::StepViewPointer view_;  ///< shared with the matchers
  std::uint64_t sequence_ = 0;
};

}  // namespace sluice::bench
