#include <doctest/doctest.h>

#include <random>

#include "sluice/formats/layout.hpp"
#include "support/seed.hpp"

using namespace sluice::formats;

namespace {

using Numbers = std::vector<std::int64_t>;

/// Element by element; neighbours are merged.
std::vector<FileRun> plain_runs(const Header& header, const Layout& layout, int varid, const Numbers& start,
                                const Numbers& count, const Numbers& stride) {
  const auto& variable = header.variable(varid);
  const auto element = static_cast<std::int64_t>(size_of(variable.type));
  std::int64_t elements = 1;
  for (const auto n : count) elements *= n;
  std::vector<FileRun> runs;
  for (std::int64_t k = 0; k < elements; ++k) {
    std::int64_t rest = k, offset = variable.begin, inside = element;
    for (std::size_t d = count.size(); d-- > 0;) {
      const auto index = start[d] + rest % count[d] * (stride.empty() ? 1 : stride[d]);
      rest /= count[d];
      const bool is_record = header.dimension(variable.dimids[d]).is_record;
      offset += index * (is_record ? layout.record_size : inside);
      inside *= header.dimension(variable.dimids[d]).length;
    }
    if (!runs.empty() && runs.back().offset_bytes + runs.back().length_bytes == offset) {
      runs.back().length_bytes += element;
    } else {
      runs.push_back({offset, element});
    }
  }
  return runs;
}

struct Example {
  Header header;
  Layout layout;
  int varid = 0;
};

/// v(shape) of a type. Another record variable, if wanted, leaves gaps between v's records.
Example example(Type type, const Numbers& shape, bool is_record, bool has_other) {
  Example e;
  Variable variable;
  variable.name = "v";
  variable.type = type;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool is_first = is_record && d == 0;
    variable.dimids.push_back(e.header.add_dimension(
        {.name = "d" + std::to_string(d), .length = is_first ? 0 : shape[d], .is_record = is_first}));
  }
  e.header.add_variable(variable);
  if (is_record && has_other) {
    variable.name = "other";
    e.header.add_variable(variable);
  }
  e.layout = compute_layout(e.header, {}, nullptr);
  return e;
}

}  // namespace

TEST_CASE("the runs of a selection are those that element by element are found") {
  std::mt19937_64 random(sluice::test::test_seed());
  const auto pick = [&random](std::int64_t least, std::int64_t largest) {
    return std::uniform_int_distribution<std::int64_t>(least, largest)(random);
  };
  constexpr Type types[] = {Type::int8, Type::int16, Type::float32, Type::float64};
  for (int round = 0; round < 5000; ++round) {
    Numbers shape, start, count, stride;
    const auto rank = pick(0, 4);
    for (std::int64_t d = 0; d < rank; ++d) {
      shape.push_back(pick(1, 6));
      start.push_back(pick(0, 2) == 0 ? 0 : pick(0, shape.back() - 1));
      stride.push_back(pick(0, 1) == 0 ? 1 : pick(1, 3));
      const auto most = (shape.back() - start.back() - 1) / stride.back() + 1;
      count.push_back(pick(0, 2) == 0 ? pick(0, most) : most);
    }
    const auto e = example(types[pick(0, 3)], shape, rank > 0 && pick(0, 1) == 0, pick(0, 1) == 0);
    if (pick(0, 2) == 0) stride.clear();
    if (stride.empty()) {
      for (std::size_t d = 0; d < count.size(); ++d) count[d] = std::min(count[d], shape[d] - start[d]);
    }
    CAPTURE(round);
    std::vector<FileRun> runs{{7, 1}};
    append_runs(e.header, e.layout, 0, start, count, stride, runs);
    auto expected = plain_runs(e.header, e.layout, 0, start, count, stride);
    expected.insert(expected.begin(), FileRun{7, 1});
    REQUIRE(runs == expected);
  }
}

TEST_CASE("a whole variable is one run, and so are all records of the only record variable") {
  std::vector<FileRun> runs;
  const auto fixed = example(Type::float64, {4, 5, 6}, false, false);
  append_runs(fixed.header, fixed.layout, 0, Numbers{0, 0, 0}, Numbers{4, 5, 6}, {}, runs);
  CHECK(runs == std::vector<FileRun>{{512, 960}});
  runs.clear();
  const auto alone = example(Type::int8, {4, 5}, true, false);
  append_runs(alone.header, alone.layout, 0, Numbers{1, 0}, Numbers{3, 5}, {}, runs);
  CHECK(runs == std::vector<FileRun>{{517, 15}});
  runs.clear();
  const auto shared = example(Type::int8, {4, 5}, true, true);
  append_runs(shared.header, shared.layout, 0, Numbers{1, 0}, Numbers{2, 5}, {}, runs);
  CHECK(runs == std::vector<FileRun>{{528, 5}, {544, 5}});
}

TEST_CASE("runs never grow into those that were there before") {
  const auto e = example(Type::int32, {10}, false, false);
  std::vector<FileRun> runs;
  append_runs(e.header, e.layout, 0, Numbers{0}, Numbers{5}, {}, runs);
  append_runs(e.header, e.layout, 0, Numbers{5}, Numbers{5}, {}, runs);
  CHECK(runs == std::vector<FileRun>{{512, 20}, {532, 20}});
}

TEST_CASE("a scalar is one run, nothing is none, and the stride of one element may be anything") {
  std::vector<FileRun> runs;
  const auto scalar = example(Type::int32, {}, false, false);
  append_runs(scalar.header, scalar.layout, 0, {}, {}, {}, runs);
  CHECK(runs == std::vector<FileRun>{{512, 4}});
  const auto e = example(Type::int32, {3, 3}, false, false);
  append_runs(e.header, e.layout, 0, Numbers{0, 3}, Numbers{3, 0}, {}, runs);
  CHECK(runs.size() == 1);
  const auto largest = std::numeric_limits<std::int64_t>::max();
  append_runs(e.header, e.layout, 0, Numbers{1, 1}, Numbers{1, 1}, Numbers{largest, largest}, runs);
  CHECK(runs.back() == FileRun{528, 4});
}
