#include "sluice/replay/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "segmented_log.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/replay/packer.hpp"
#include "support/dense_reference.hpp"
#include "support/seed.hpp"

using namespace sluice;
using formats::Hyperslab;
using formats::Type;
using replay::Plan;
using replay::PlanBuilder;

namespace {

template <class T>
struct TypeOf;
template <>
struct TypeOf<std::int8_t> {
  static constexpr Type value = Type::int8;
};
template <>
struct TypeOf<std::int16_t> {
  static constexpr Type value = Type::int16;
};
template <>
struct TypeOf<std::int32_t> {
  static constexpr Type value = Type::int32;
};
template <>
struct TypeOf<double> {
  static constexpr Type value = Type::float64;
};

/// A variable of external type T whose writers put to logs, and a dense array that must agree with it.
template <class T>
class Variable {
 public:
  Variable(std::vector<std::int64_t> shape, T fill, std::size_t segment_bytes, std::size_t alignment = 8)
      : log(segment_bytes),
        index(static_cast<int>(shape.size()), sizeof(T)),
        shape_(std::move(shape)),
        dense_(static_cast<std::size_t>(test::elements_of(shape_)), fill),
        fill_(fill),
        alignment_(alignment) {}

  void put(std::uint32_t writer, const Hyperslab& box, const std::vector<T>& values) {
    ++sequence_;
    const bool is_of_file = writer >= first_file;
    std::vector<T> stored = values;
    if (is_of_file) {
      formats::copy_ordered(stored.data(), values.data(), sizeof(T), static_cast<std::int64_t>(values.size()),
                            formats::ByteOrder::big);
    }
    const std::uint64_t offset = log.append(writer, stored.data(), stored.size() * sizeof(T), alignment_,
                                            is_of_file ? matcher::first_offset_of_file : 0);
    index.add({.writer = writer, .sequence = sequence_, .log_offset = offset, .box = box.view()});
    test::for_each_element(box.view(), [&](const std::vector<std::int64_t>& at, std::int64_t position) {
      dense_[test::position_of(shape_, at)] = values[static_cast<std::size_t>(position)];
    });
  }
  void put_fill(const Hyperslab& box) {
    ++sequence_;
    index.add({.sequence = sequence_, .is_fill = true, .box = box.view()});
    test::for_each_element(
        box.view(), [&](const auto& at, std::int64_t) { dense_[test::position_of(shape_, at)] = fill_; });
  }

  Plan plan(const std::vector<Hyperslab>& reads) {
    PlanBuilder builder(sizeof(T));
    std::vector<matcher::Piece> pieces;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (i % 2 == 0) {
        builder.add(reads[i].view(), index);
        continue;
      }
      pieces.clear();
      const matcher::Match match = index.match(reads[i].view(), pieces);
      builder.add(reads[i].view(), pieces, match);
    }
    return builder.take();
  }

  /// The values of the reads, one after another, and the status.
  template <class M>
  int get(const Plan& plan, std::vector<M>& values) {
    values.assign(static_cast<std::size_t>(plan.elements) + 2, M{77});
    const replay::Conversion conversion{
        .external = TypeOf<T>::value, .memory = TypeOf<M>::value, .fill = &fill_};
    const int status = execute(plan, log, conversion, values.data() + 1);
    const auto calls = log.calls;
    std::vector<M> by_threads(values.size(), M{77});
    CHECK(execute(plan, log, conversion, by_threads.data() + 1, 3) == status);
    CHECK(by_threads == values);
    log.calls = calls;
    CHECK(values.front() == M{77});
    CHECK(values.back() == M{77});
    values.erase(values.begin());
    values.pop_back();
    return status;
  }

  std::vector<T> expected(const std::vector<Hyperslab>& reads) const {
    std::vector<T> values;
    for (const Hyperslab& read : reads) {
      test::for_each_element(read.view(), [&](const auto& at, std::int64_t) {
        values.push_back(dense_[test::position_of(shape_, at)]);
      });
    }
    return values;
  }

  test::SegmentedLog log;
  matcher::WriteIndex index;
  std::uint32_t first_file = 1000;  ///< the logs of writers from here on are files, which are big-endian

 private:
  std::vector<std::int64_t> shape_;
  std::vector<T> dense_;
  T fill_;
  std::size_t alignment_;
  std::uint64_t sequence_ = 0;
};

/// The logs, and a packed copy of the data that a plan reads from them.
class WithPacked final : public replay::LogReader {
 public:
  static constexpr std::uint32_t packed_writer = 5000;
  explicit WithPacked(replay::LogReader& logs) : logs_(logs) {}
  std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    if (writer != packed_writer) return logs_.at(writer, log_offset);
    return log_offset < packed.size() ? std::span(packed).subspan(log_offset) : std::span<std::byte>{};
  }
  std::vector<std::byte> packed;

 private:
  replay::LogReader& logs_;
};

/// The values of a plan, some of whose copies were packed elsewhere, in portions of any size.
template <class T>
std::vector<T> values_by_packing(const Plan& plan, replay::LogReader& logs, T fill,
                                 test::HyperslabGenerator& random) {
  WithPacked with_packed(logs);
  Plan redirected = plan;
  Plan moved;
  moved.dimensions = plan.dimensions;
  replay::Redirection redirection(sizeof(T));
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < plan.copies.size(); ++i) {
    if (plan.copies[i].is_fill || random.chance(30)) continue;
    moved.copies.push_back(plan.copies[i]);
    redirection.redirect(redirected, i, WithPacked::packed_writer, offset);
    offset += replay::packed_bytes(plan, plan.copies[i], sizeof(T));
  }
  replay::Packer packer(moved, sizeof(T));
  CHECK(packer.bytes() == offset);
  const auto room_bytes = static_cast<std::size_t>(random.between(sizeof(T), 300));
  std::vector<std::byte> room(room_bytes);
  while (!packer.is_done()) {
    if (random.chance(40)) {  // contiguous data is read from its place
      const auto wanted = static_cast<std::size_t>(random.between(1, 60));
      const std::span<const std::byte> passed = packer.pass(logs, wanted);
      REQUIRE((passed.empty() || passed.size() == wanted));
      with_packed.packed.insert(with_packed.packed.end(), passed.begin(), passed.end());
      continue;
    }
    const std::size_t bytes = packer.pack(logs, room);
    REQUIRE(bytes > 0);
    with_packed.packed.insert(with_packed.packed.end(), room.begin(),
                              room.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  CHECK(packer.pack(logs, room) == 0);
  CHECK(packer.pass(logs, sizeof(T)).empty());
  CHECK(with_packed.packed.size() == offset);
  redirected = replay::Redirection::simplify(std::move(redirected));
  std::vector<T> values(static_cast<std::size_t>(plan.elements));
  const replay::Conversion conversion{
      .external = TypeOf<T>::value, .memory = TypeOf<T>::value, .fill = &fill};
  CHECK(execute(redirected, with_packed, conversion, values.data()) == NC_NOERR);
  return values;
}

template <class T>
void compare_with_dense(std::uint64_t seed) {
  CAPTURE(seed);
  test::HyperslabGenerator random(seed);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const std::vector<std::int64_t> shape =
        random.shape(static_cast<std::size_t>(random.between(0, 5)), 1500);
    Variable<T> variable(shape, T{-9}, static_cast<std::size_t>(random.between(8, 20000)));
    variable.first_file = static_cast<std::uint32_t>(random.between(0, 60));
    for (std::int64_t i = random.between(0, 60); i > 0; --i) {
      const Hyperslab box = random.hyperslab(shape);
      if (random.chance(10)) {
        variable.put_fill(box);
        continue;
      }
      std::vector<T> values(static_cast<std::size_t>(test::elements_of(box.count)));
      for (T& value : values) value = static_cast<T>(random.between(-128, 127));
      variable.put(static_cast<std::uint32_t>(random.between(0, 40)), box, values);
    }
    for (int access = 0; access < 10; ++access) {
      std::vector<Hyperslab> reads;
      for (std::int64_t i = random.between(1, random.chance(50) ? 1 : 30); i > 0; --i) {
        reads.push_back(random.hyperslab(shape));
      }
      const Plan plan = variable.plan(reads);
      const std::vector<T> expected = variable.expected(reads);
      REQUIRE(plan.elements == static_cast<std::int64_t>(expected.size()));
      std::vector<T> same;
      CHECK(variable.get(plan, same) == NC_NOERR);
      CHECK(same == expected);
      CHECK(values_by_packing(plan, variable.log, T{-9}, random) == expected);
      std::vector<double> converted;
      CHECK(variable.get(plan, converted) == NC_NOERR);
      CHECK(converted == std::vector<double>(expected.begin(), expected.end()));
    }
  }
}

}  // namespace

TEST_CASE("random reads get the values of a dense array, with and without conversion") {
  compare_with_dense<std::int8_t>(test::test_seed());
  compare_with_dense<std::int16_t>(test::test_seed());
  compare_with_dense<std::int32_t>(test::test_seed());
  compare_with_dense<double>(test::test_seed());
}

TEST_CASE("single elements read with the decomposition that wrote them are one copy per writer") {
  for (const std::size_t alignment : {std::size_t{4}, std::size_t{8}}) {
    Variable<std::int32_t> variable({8, 500}, -1, std::size_t{1} << 20, alignment);
    std::vector<Hyperslab> reads;
    std::mt19937_64 random(test::test_seed(1));
    for (std::int64_t i = 0; i < 4000; ++i) reads.push_back({{i / 500, i % 500}, {1, 1}, {}});
    std::ranges::shuffle(reads, random);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      variable.put(static_cast<std::uint32_t>(i / 1000), reads[i], {static_cast<std::int32_t>(i)});
    }
    const Plan plan = variable.plan(reads);
    CHECK_FALSE(plan.needs_fill);
    CHECK(plan.copies.size() == 4);
    std::vector<std::int32_t> values;
    CHECK(variable.get(plan, values) == NC_NOERR);
    CHECK(values == variable.expected(reads));
  }
}

TEST_CASE("many hyperslabs in any order give the same values as one by one") {
  test::HyperslabGenerator random(test::test_seed());
  for (std::size_t dimensions = 1; dimensions <= 3; ++dimensions) {
    const std::vector<std::int64_t> shape = random.shape(dimensions, 500);
    Variable<std::int32_t> variable(shape, -5, std::size_t{1} << 20);
    for (int i = 0; i < 40; ++i) {
      const Hyperslab box = random.hyperslab(shape);
      variable.put(static_cast<std::uint32_t>(i % 5), box,
                   std::vector<std::int32_t>(static_cast<std::size_t>(test::elements_of(box.count)), i));
    }
    std::vector<Hyperslab> reads;
    for (int i = 0; i < 3000; ++i) reads.push_back(random.hyperslab(shape));
    std::vector<formats::HyperslabView> views;
    for (const Hyperslab& read : reads) views.push_back(read.view());
    PlanBuilder builder(sizeof(std::int32_t));
    builder.add(views, variable.index);
    const Plan plan = builder.take();
    std::vector<std::int32_t> values;
    CHECK(variable.get(plan, values) == NC_NOERR);
    CHECK(values == variable.expected(reads));
    CHECK(plan.copies.size() == variable.plan(reads).copies.size());

    reads[1000].start[0] = -1;
    views[1000] = reads[1000].view();
    CHECK_THROWS_AS(builder.add(views, variable.index), Error);
  }
}

TEST_CASE("a block of whole rows is one copy, a part of the columns one strided copy") {
  Variable<double> variable({10, 6, 4}, 0, std::size_t{1} << 20);
  variable.put(0, {{0, 0, 0}, {10, 6, 4}, {}}, std::vector<double>(240, 1));
  CHECK(variable.plan({{{2, 0, 0}, {5, 6, 4}, {}}}).dimensions.size() == 1);
  const Plan columns = variable.plan({{{2, 1, 0}, {5, 3, 4}, {}}});
  CHECK(columns.copies.size() == 1);
  CHECK(columns.dimensions.size() == 2);
  const Plan element = variable.plan({{{2, 1, 0}, {1, 1, 1}, {}}});
  CHECK(element.dimensions.empty());
}

TEST_CASE("elements at regular distances become one copy, and rows of them a box") {
  Variable<std::int32_t> variable({20, 30}, 0, std::size_t{1} << 20);
  std::vector<std::int32_t> values(600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
  variable.put(0, {{0, 0}, {20, 30}, {}}, values);
  std::vector<Hyperslab> reads;
  for (std::int64_t y = 19; y >= 0; y -= 2) {
    for (std::int64_t x = 0; x < 30; x += 4) reads.push_back({{y, x}, {1, 1}, {}});
  }
  const Plan plan = variable.plan(reads);
  CHECK(plan.copies.size() == 1);
  CHECK(plan.dimensions.size() == 2);
  std::vector<std::int32_t> got;
  CHECK(variable.get(plan, got) == NC_NOERR);
  CHECK(got == variable.expected(reads));
}

TEST_CASE("writes at regular distances that overwrite each other leave the last one's values") {
  Variable<std::int16_t> variable({8}, 0, 1 << 16);
  const auto check = [&](const std::vector<Hyperslab>& reads) {
    std::vector<std::int16_t> values;
    CHECK(variable.get(variable.plan(reads), values) == NC_NOERR);
    CHECK(values == variable.expected(reads));
  };
  for (std::int16_t i = 1; i <= 5; ++i) variable.put(0, {{3}, {1}, {}}, {i});
  check({{{3}, {1}, {}}});
  for (std::int16_t i = 0; i < 5; ++i)
    variable.put(0, {{i}, {3}, {}}, {i, static_cast<std::int16_t>(10 + i), 20});
  check({{{0}, {8}, {}}});
  for (std::int16_t i = 4; i >= 0; --i)
    variable.put(0, {{i}, {2}, {3}}, {i, static_cast<std::int16_t>(30 + i)});
  check({{{0}, {8}, {}}, {{1}, {3}, {2}}});
}

TEST_CASE("a copy that was merged from many requests crosses segments") {
  for (const std::size_t alignment : {std::size_t{4}, std::size_t{8}}) {
    Variable<std::int32_t> variable({1000}, 0, 52, alignment);
    std::vector<Hyperslab> reads;
    for (std::int64_t i = 0; i < 1000; ++i) {
      reads.push_back({{i}, {1}, {}});
      variable.put(0, reads.back(), {static_cast<std::int32_t>(i * i)});
    }
    const Plan plan = variable.plan(reads);
    CHECK(plan.copies.size() < 200);
    std::vector<std::int32_t> same;
    CHECK(variable.get(plan, same) == NC_NOERR);
    CHECK(same == variable.expected(reads));
    std::vector<double> converted;
    CHECK(variable.get(plan, converted) == NC_NOERR);
    CHECK(converted == std::vector<double>(same.begin(), same.end()));
  }
}

TEST_CASE("many small copies ask for the place of the log seldom") {
  Variable<std::int32_t> variable({10000}, 0, std::size_t{1} << 20);
  for (std::int64_t i = 0; i < 10000; ++i)
    variable.put(static_cast<std::uint32_t>(i % 16), {{i}, {1}, {}}, {7});
  const Plan plan = variable.plan({{{0}, {10000}, {}}});
  variable.log.calls = 0;
  std::vector<std::int32_t> values;
  CHECK(variable.get(plan, values) == NC_NOERR);
  CHECK(variable.log.calls <= 16);
}

TEST_CASE("a value out of range is reported only if it is not overwritten") {
  Variable<double> variable({100}, 1e30, std::size_t{1} << 20);
  const Hyperslab all{{0}, {100}, {}};
  std::vector<std::int16_t> values;
  CHECK(variable.get(variable.plan({all}), values) == NC_ERANGE);  // the fill value
  variable.put(0, {{0}, {60}, {}}, std::vector<double>(60, 1e6));
  variable.put(0, {{50}, {50}, {}}, std::vector<double>(50, 5));
  CHECK(variable.get(variable.plan({all}), values) == NC_ERANGE);
  variable.put(0, {{0}, {55}, {}}, std::vector<double>(55, 6));
  CHECK(variable.get(variable.plan({all}), values) == NC_NOERR);
  CHECK(values[0] == 6);
  CHECK(values[99] == 5);
}

TEST_CASE("without a fill value the type's default is used") {
  test::SegmentedLog log(100);
  Plan plan;
  plan.needs_fill = true;
  plan.elements = 3;
  std::vector<std::int32_t> values(3);
  CHECK(execute(plan, log, {.external = Type::int32, .memory = Type::int32}, values.data()) == NC_NOERR);
  CHECK(values == std::vector<std::int32_t>(3, -2147483647));
}

TEST_CASE("data that no log has is an error, not a crash") {
  test::SegmentedLog log(100);
  const std::vector<std::int32_t> data{1, 2, 3, 4};
  log.append(0, data.data(), 16, 8);
  std::vector<std::int32_t> values(4);
  const auto run = [&](const Plan& plan) {
    return execute(plan, log, {.external = Type::int32, .memory = Type::int32}, values.data());
  };
  Plan plan;
  plan.elements = 4;
  plan.copies = {{.writer = 0, .dimensions = 1}};
  plan.dimensions = {{4, 4, 1}};
  CHECK(run(plan) == NC_NOERR);
  CHECK(values == data);
  const auto fails_with = [&](const std::function<void(Plan&)>& change) {
    Plan changed = plan;
    change(changed);
    CHECK_THROWS_AS(run(changed), Error);
  };
  fails_with([](Plan& p) { p.dimensions[0].count = 5; });
  fails_with([](Plan& p) { p.dimensions[0].count = 0; });
  fails_with([](Plan& p) { p.dimensions[0].count = -1; });
  fails_with([](Plan& p) { p.dimensions[0].destination_step = 2; });
  fails_with([](Plan& p) { p.dimensions[0].destination_step = -1; });
  fails_with([](Plan& p) { p.dimensions[0].destination_step = std::int64_t{1} << 62; });
  fails_with([](Plan& p) { p.dimensions[0].source_step_bytes = 5; });
  fails_with([](Plan& p) { p.dimensions[0].source_step_bytes = -4; });
  fails_with([](Plan& p) { p.dimensions[0].source_step_bytes = std::int64_t{1} << 62; });
  fails_with([](Plan& p) { p.copies[0].log_offset = 4; });
  fails_with([](Plan& p) { p.copies[0].log_offset = 16; });
  fails_with([](Plan& p) { p.copies[0].log_offset = ~std::uint64_t{0}; });
  fails_with([](Plan& p) { p.copies[0].writer = 1; });
  fails_with([](Plan& p) { p.copies[0].destination = 1; });
  fails_with([](Plan& p) { p.copies[0].destination = -1; });
  fails_with([](Plan& p) { p.copies[0].first_dimension = 1; });
  fails_with([](Plan& p) { p.dimensions[0] = {std::int64_t{1} << 58, 0, 0}; });
  for (const std::uint64_t offset : {std::uint64_t{13}, std::uint64_t{16}, ~std::uint64_t{0}}) {
    plan.copies = {{.writer = 0, .dimensions = 0, .log_offset = offset}};
    CHECK_THROWS_AS(run(plan), Error);
  }
  plan.copies = {{.writer = 0, .dimensions = 0, .destination = 4}};
  CHECK_THROWS_AS(run(plan), Error);
}

TEST_CASE("the source range of a copy holds all that it reads") {
  Plan plan;
  plan.dimensions = {{3, -100, 1}, {2, 8, 1}};
  const replay::SourceRange range = source_range(plan, {.dimensions = 2, .log_offset = 1000}, 4);
  CHECK(range.first == 800);
  CHECK(range.end == 1012);
  CHECK_THROWS_AS((void)source_range(plan, {.dimensions = 2, .log_offset = 100}, 4), Error);
}
