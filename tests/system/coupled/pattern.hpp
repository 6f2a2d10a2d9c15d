#pragma once
// Random datasets, puts and gets, which follow from the seed and the number of writers.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace patterns {

using Random = std::mt19937_64;

/// A number in [low, high].
inline std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

struct Variable {
  std::string name;
  int type = 0;             ///< nc_type
  std::vector<int> dimids;  ///< 0 is the record dimension
  std::vector<std::int64_t>
      shape;  ///< the largest shape; the record dimension has as many records as are ever written
  bool is_record = false;
  bool has_fill_attribute = false;  ///< _FillValue = fill_attribute
  int first_phase = 0;              ///< the phase that defines it
  [[nodiscard]] std::int64_t elements() const;
};
inline constexpr int fill_attribute = 120;
inline constexpr int unwritten = -1;

/// A put or a get. `stride` may be empty; `imap` is not empty for varm; more than one slab for varn.
struct Slab {
  std::vector<std::int64_t> start, count, stride;
  [[nodiscard]] std::int64_t elements() const;
};
enum class Shape { vara, vars, varm, varn };
struct Operation {
  int variable = 0;
  Shape shape = Shape::vara;
  std::vector<Slab> slabs;
  std::vector<std::int64_t> imap;
  int memory_type = 0;
  bool is_nonblocking = false;
  std::int64_t serial = 0;
  [[nodiscard]] std::int64_t elements() const;
};

/// The actions of all writers between two barriers. Puts of different writers do not overlap.
struct Phase {
  bool is_collective = true;
  bool reopens = false;  ///< closes the file and reopens it first
  std::vector<std::vector<Operation>>
      puts;  ///< by rank; in a collective phase the i-th puts of all ranks are one call
};

struct Dataset {
  bool has_overlaps = true;              ///< slabs of one call, or pending requests, may overlap
  int format = 1;                        ///< 1, 2 or 5
  std::vector<std::int64_t> dimensions;  ///< lengths; the first is the record dimension's largest extent
  std::vector<Variable> variables;
  std::vector<Phase> phases;
};

[[nodiscard]] Dataset make_dataset(std::uint64_t seed, int writers, bool has_overlaps);

/// One value for each element of each variable: the last put, or `unwritten`.
class Reference {
 public:
  explicit Reference(const Dataset& dataset);
  void apply(const Phase& phase);
  [[nodiscard]] int at(int variable, std::int64_t element) const {
    return values_[static_cast<std::size_t>(variable)][static_cast<std::size_t>(element)];
  }
  [[nodiscard]] std::int64_t record_count() const { return record_count_; }

 private:
  const Dataset& dataset_;
  std::vector<std::vector<int>> values_;
  std::int64_t record_count_ = 0;
};

/// The value that the put with that serial number gives to an element: 0 … 99, which every type can hold.
[[nodiscard]] int value_of(std::int64_t serial, int variable, std::int64_t element);

/// The row-major positions of the operation's elements in the variable, in the order of its dense row.
[[nodiscard]] std::vector<std::int64_t> elements_of(const Variable& variable, const Operation& operation);
/// The position in the user's memory of each element of the dense row; different for varm only.
[[nodiscard]] std::vector<std::int64_t> memory_positions(const Operation& operation);

/// A get of one variable within its bounds; `records` bounds the record dimension.
[[nodiscard]] Operation make_get(Random& random, const Dataset& dataset, int variable, std::int64_t records);

}  // namespace patterns
