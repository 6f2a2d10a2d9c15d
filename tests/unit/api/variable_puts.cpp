#include "variable_puts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace sluice;
using api::VariablePuts;

namespace {

constexpr std::int64_t rows = 4, columns = 6;

/// A dataset with a fixed variable 0, a variable of records 1 and a scalar 2.
formats::Header header() {
  formats::Header header;
  const int t = header.add_dimension({"t", 0, true});
  const int y = header.add_dimension({"y", rows});
  const int x = header.add_dimension({"x", columns});
  header.add_variable({"fixed", formats::Type::int32, {y, x}, {}});
  header.add_variable({"records", formats::Type::int32, {t, x}, {}});
  header.add_variable({"scalar", formats::Type::int32, {}, {}});
  return header;
}

/// Whether puts are noted after one of these boxes.
bool counts(VariablePuts& puts, int varid, const formats::Hyperslab& box, int processes = 1) {
  const formats::HyperslabView view = box.view();
  storage::Access access;
  access.varid = varid;
  access.slabs = std::span(&view, 1);
  access.elements = view.elements();
  return puts.count(header(), access, processes);
}

VariablePuts noted() {
  VariablePuts puts;
  const formats::Hyperslab all{{0, 0}, {rows, columns}, {}};
  CHECK_FALSE(counts(puts, 0, all));
  REQUIRE(counts(puts, 0, all));
  return puts;
}

void add(VariablePuts& puts, const formats::Hyperslab& box, std::uint64_t offset) {
  const VariablePuts::Place place{nullptr, offset, static_cast<std::uint64_t>(box.view().elements()) * 4};
  puts.add(box.view(), &place);
}

/// -1: there is none.
std::int64_t find(const VariablePuts& puts, const formats::Hyperslab& box) {
  const auto place = puts.find(box.view());
  return place ? static_cast<std::int64_t>(place->log_offset) : -1;
}

/// A log of one variable as a process writes it, and what readers find there.
class Log {
 public:
  void put(const formats::Hyperslab& box, int value) {
    const auto bytes = static_cast<std::uint64_t>(box.view().elements());
    const auto same = puts_.find(box.view());
    const auto again = same ? same : puts_.take_free(bytes);
    const VariablePuts::Place place = again ? *again : VariablePuts::Place{nullptr, memory_.size(), bytes};
    memory_.resize(std::max(memory_.size(), place.log_offset + bytes));
    std::fill_n(memory_.begin() + static_cast<std::ptrdiff_t>(place.log_offset), bytes, value);
    if (same) return;
    entries_.emplace_back(box, place.log_offset);
    puts_.add(box.view(), &place);
  }
  /// All elements of the variable; 0 where there is none.
  [[nodiscard]] std::vector<int> values() const {
    std::vector<int> values(rows * columns);
    for (const auto& [box, offset] : entries_) {
      std::size_t from = offset;
      for (std::int64_t i = 0; i < box.count[0]; ++i)
        for (std::int64_t j = 0; j < box.count[1]; ++j, ++from)
          values[static_cast<std::size_t>((box.start[0] + i * box.stride[0]) * columns + box.start[1] +
                                          j * box.stride[1])] = memory_[from];
    }
    return values;
  }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_.size(); }

 private:
  VariablePuts puts_ = noted();
  std::vector<int> memory_;
  std::vector<std::pair<formats::Hyperslab, std::uint64_t>> entries_;
};

}  // namespace

TEST_CASE("puts are noted when more was put than the variable, or the share of a process, has") {
  VariablePuts fixed, records, scalar, shared;
  for (std::int64_t row = 0; row < rows; ++row) CHECK_FALSE(counts(fixed, 0, {{row, 0}, {1, columns}, {}}));
  CHECK(counts(fixed, 0, {{0, 0}, {1, 1}, {}}));
  for (std::int64_t row = 0; row < 1000; ++row) CHECK_FALSE(counts(records, 1, {{row, 0}, {1, columns}, {}}));
  CHECK_FALSE(counts(scalar, 2, {}));
  CHECK(counts(scalar, 2, {}));
  CHECK_FALSE(counts(shared, 0, {{0, 0}, {2, columns}, {}}, 2));
  CHECK(counts(shared, 0, {{0, 0}, {2, columns}, {}}, 2));
}

TEST_CASE("a put finds the place of a put of the same elements, unless a later one has some of them") {
  VariablePuts puts = noted();
  add(puts, {{0, 0}, {2, columns}, {}}, 1);
  add(puts, {{2, 0}, {1, columns}, {}}, 2);
  CHECK(find(puts, {{0, 0}, {2, columns}, {}}) == 1);
  CHECK(find(puts, {{0, 0}, {2, columns}, {1, 1}}) == 1);
  CHECK(find(puts, {{2, 0}, {1, columns}, {}}) == 2);
  CHECK(find(puts, {{2, 0}, {1, columns - 1}, {}}) == -1);
  add(puts, {{1, 1}, {1, 1}, {}}, 3);
  CHECK(find(puts, {{0, 0}, {2, columns}, {}}) == -1);
  CHECK(find(puts, {{2, 0}, {1, columns}, {}}) == 2);
  puts.forget();
  CHECK(find(puts, {{2, 0}, {1, columns}, {}}) == -1);
}

TEST_CASE("places of covered puts are given again, and not more of them than there are") {
  VariablePuts puts = noted();
  add(puts, {{0, 0}, {1, columns}, {}}, 1);
  add(puts, {{1, 0}, {1, columns}, {}}, 2);
  CHECK_FALSE(puts.take_free(24));
  add(puts, {{0, 0}, {rows, columns}, {}}, 3);
  CHECK(puts.noted() == 1);
  CHECK(puts.take_free(24));
  CHECK_FALSE(puts.take_free(4));  // far too large a place
  CHECK(puts.take_free(20));
  CHECK_FALSE(puts.take_free(20));
}

TEST_CASE(
    "readers find the newest values of random puts, and a log of puts that repeat themselves is bounded") {
  std::random_device device;
  const unsigned seed = device();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (int run = 0; run < 50; ++run) {
    std::vector<formats::Hyperslab> boxes{{{0, 0}, {rows, columns}, {1, 1}}};
    while (boxes.size() < 6) {
      const std::int64_t y = below(rows), x = below(columns), step = 1 + below(2);
      boxes.push_back({{y, x}, {1 + below(rows - y), 1 + below((columns - x + step - 1) / step)}, {1, step}});
    }
    Log log;
    std::vector<int> expected(rows * columns);
    std::size_t size_after_some = 0;
    for (int put = 1; put <= 1000; ++put) {
      const auto& box = boxes[static_cast<std::size_t>(below(static_cast<std::int64_t>(boxes.size())))];
      log.put(box, put);
      for (std::int64_t i = 0; i < box.count[0]; ++i)
        for (std::int64_t j = 0; j < box.count[1]; ++j)
          expected[static_cast<std::size_t>((box.start[0] + i) * columns + box.start[1] +
                                            j * box.stride[1])] = put;
      REQUIRE(log.values() == expected);
      if (put == 500) size_after_some = log.size();
    }
    CHECK(log.size() < 1000);  // without that some 10,000 elements
    CHECK(log.size() <= size_after_some + 2 * rows * columns);
  }
}

TEST_CASE("single elements that are put again and again have one entry each") {
  Log log;
  for (int round = 1; round <= 5; ++round)
    for (std::int64_t y = 0; y < rows; ++y)
      for (std::int64_t x = 0; x < columns; ++x) log.put({{y, x}, {1, 1}, {1, 1}}, round);
  CHECK(log.values() == std::vector<int>(rows * columns, 5));
  CHECK(log.entries() == rows * columns);
}
