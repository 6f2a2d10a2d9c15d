// Counts the packets that matchers send each other in a step (docs/design/matchers-and-ranks.md), for numbers
// of ranks that no test can start. tools/bench --only messages compares the result with the counters of real
// runs.
//
//     message_model                           a table, up to 10^5 ranks of either component
//     message_model PATTERN NODES PER_NODE    "FIRST REPLAYED": packets that the busiest matcher sends to
//     match
//                                             and to move data, in the first step of a pattern and in later
//                                             ones
//
// The model has one matcher per node. An array of two dimensions passes from writers to as many readers, with
// the same number of both on each node. Packets of the relay tree do not count: a matcher sends at most one
// of them to each neighbour in a turn of its loop.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/matcher/ownership.hpp"

using namespace sluice;

namespace {

struct Grid {
  std::int64_t rows = 1, columns = 1;  ///< of processes
};

/// The writers' and the readers' blocks.
struct Pattern {
  std::string_view name;
  std::string_view meaning;
  Grid (*writers)(std::int64_t ranks);
  Grid (*readers)(std::int64_t ranks);
  std::int64_t moved_rows = 0;  ///< shift of the readers' blocks against the writers' blocks
};

Grid bands_of_rows(std::int64_t ranks) {
  return {ranks, 1};
}
Grid bands_of_columns(std::int64_t ranks) {
  return {1, ranks};
}
/// A grid that is as square as possible.
Grid squares(std::int64_t ranks) {
  auto rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(ranks)));
  while (ranks % rows != 0) --rows;
  return {rows, ranks / rows};
}

const Pattern patterns[]{
    {"neighbours", "bands of rows to bands of rows, out of step by half a band", bands_of_rows, bands_of_rows,
     1},
    {"squares", "bands of rows to squares", bands_of_rows, squares},
    {"columns", "bands of rows to bands of columns: everybody needs something of everybody", bands_of_rows,
     bands_of_columns},
};

/// Indexes [first, end) of a dimension.
struct Range {
  std::int64_t first = 0, end = 0;
};

Range part(std::int64_t length, std::int64_t index, std::int64_t parts) {
  return {length * index / parts, length * (index + 1) / parts};
}

/// The parts that a range overlaps.
Range parts_of(const Range& range, std::int64_t length, std::int64_t parts) {
  std::int64_t first = range.first * parts / length;
  while (first + 1 < parts && part(length, first, parts).end <= range.first) ++first;
  std::int64_t end = first;
  while (end < parts && part(length, end, parts).first < range.end) ++end;
  return {first, end};
}

/// Packets that a matcher sends.
struct Sent {
  std::int64_t first = 0;
  std::int64_t replayed = 0;
};

/// The step of a pattern on the given number of nodes.
class Model {
 public:
  Model(const Pattern& pattern, std::int64_t nodes, std::int64_t per_node, std::int64_t side)
      : pattern_(pattern),
        nodes_(nodes),
        per_node_(per_node),
        side_(side),
        sent_(static_cast<std::size_t>(nodes)),
        is_owner_(static_cast<std::size_t>(nodes)),
        sources_of_node_(static_cast<std::size_t>(nodes), -1) {}

  void count() {
    const std::int64_t ranks = nodes_ * per_node_;
    for (std::int64_t rank = 0; rank < ranks; ++rank) count_reader(rank, ranks);
    count_collections();
  }

  [[nodiscard]] const std::vector<Sent>& sent() const { return sent_; }
  [[nodiscard]] std::int64_t most_partners() const { return most_partners_; }

 private:
  /// The cost of one reader's get in the first step: its matcher asks the owners, and fetches from the
  /// writers' nodes. In later steps a matcher fetches for all its readers at once.
  void count_reader(std::int64_t rank, std::int64_t ranks) {
    const std::int64_t node = rank / per_node_;
    if (rank % per_node_ == 0) partners_ = 0;
    const Grid grid = pattern_.readers(ranks);
    Range rows = part(side_, rank / grid.columns, grid.rows);
    const Range columns = part(side_, rank % grid.columns, grid.columns);
    const std::int64_t moved = pattern_.moved_rows * (rows.end - rows.first) / 2;
    rows = {std::min(rows.first + moved, side_ - 1), std::min(rows.end + moved, side_)};

    const std::vector<std::int64_t> start{rows.first, columns.first},
        count{rows.end - rows.first, columns.end - columns.first};
    owned_.clear();
    ownership_of_rows().divide({start, count, {}}, owned_);
    for (const matcher::OwnedPart& owned : owned_) {  // an owner has one part of a variable
      ++at(node).first;                               // request for its part
      ++at(owned.owner).first;                        // the owner's answer
      is_owner_[owned.owner] = true;
    }

    // Here all writers' grids are bands of rows: a reader needs data of successive writers.
    const Range writers = parts_of(rows, side_, ranks);
    for (std::int64_t source = writers.first / per_node_; source <= (writers.end - 1) / per_node_; ++source) {
      if (source == node) continue;
      ++at(node).first;    // fetch request
      ++at(source).first;  // fetched data
      std::int64_t& known_to = sources_of_node_[static_cast<std::size_t>(source)];
      if (known_to == node) continue;
      known_to = node;
      ++at(node).replayed;
      ++at(source).replayed;
      most_partners_ = std::max(most_partners_, ++partners_);
    }
  }

  /// Each owner that is asked collects the requests of all matchers whose processes have written to its part.
  void count_collections() {
    const matcher::Ownership ownership = ownership_of_rows();
    for (std::int64_t owner = 0; owner < nodes_; ++owner) {
      const auto part = ownership.range_of(static_cast<std::uint32_t>(owner));
      if (!part || !is_owner_[static_cast<std::size_t>(owner)]) continue;
      const bool has_all = ownership.dimension() < 0;
      const Range rows{part->first, has_all ? side_ : std::min(part->end, side_)};
      const Range writers = parts_of(rows, side_, nodes_ * per_node_);
      for (std::int64_t node = writers.first / per_node_; node <= (writers.end - 1) / per_node_; ++node) {
        ++at(owner).first;  // request
        ++at(node).first;   // answer
      }
    }
  }

  [[nodiscard]] matcher::Ownership ownership_of_rows() const {
    const std::vector<std::int64_t> shape{side_, side_};
    return {{matcher::PartitionKind::range, static_cast<std::uint32_t>(nodes_)}, 0, shape};
  }

  Sent& at(std::int64_t node) { return sent_[static_cast<std::size_t>(node)]; }

  const Pattern& pattern_;
  std::int64_t nodes_, per_node_, side_;
  std::vector<Sent> sent_;
  std::vector<bool> is_owner_;
  std::vector<std::int64_t> sources_of_node_;  ///< the last node found to need data of the writer
  std::vector<matcher::OwnedPart> owned_;
  std::int64_t partners_ = 0, most_partners_ = 0;
};

Sent busiest(const std::vector<Sent>& sent) {
  Sent most;
  for (const Sent& one : sent) {
    most.first = std::max(most.first, one.first);
    most.replayed = std::max(most.replayed, one.replayed);
  }
  return most;
}

void print_table() {
  constexpr std::int64_t per_node = 64;
  std::puts(
      "packets that the busiest matcher sends in a step, 64 writers and 64 readers a node, one matcher a "
      "node");
  for (const Pattern& pattern : patterns) {
    std::printf("\n%s: %s\n  ranks    nodes   partners   first step   replayed\n", pattern.name.data(),
                pattern.meaning.data());
    for (const std::int64_t ranks : {128, 1024, 8192, 102400}) {
      // Weak scaling: 64 rows of columns for each band.
      Model model(pattern, ranks / per_node, per_node, ranks * 64);
      model.count();
      const Sent most = busiest(model.sent());
      std::printf("%7ld %8ld %10ld %12ld %10ld\n", ranks, ranks / per_node, model.most_partners(), most.first,
                  most.replayed);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    print_table();
    return 0;
  }
  const auto* const pattern =
      std::ranges::find(patterns, std::string_view(argc > 1 ? argv[1] : ""), &Pattern::name);
  const std::int64_t nodes = argc == 4 ? std::atoll(argv[2]) : 0;
  const std::int64_t per_node = argc == 4 ? std::atoll(argv[3]) : 0;
  if (pattern == std::end(patterns) || nodes < 1 || per_node < 1) {
    std::fputs("usage: message_model [neighbours|squares|columns NODES PER_NODE]\n", stderr);
    return 2;
  }
  Model model(*pattern, nodes, per_node, 512);
  model.count();
  const Sent most = busiest(model.sent());
  std::printf("%ld %ld\n", most.first, most.replayed);
  return 0;
}
