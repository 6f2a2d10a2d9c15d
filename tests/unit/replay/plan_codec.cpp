#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "segmented_log.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/replay/plan.hpp"
#include "support/seed.hpp"

using namespace sluice;
using replay::Plan;

namespace {

/// The example of docs/formats/plan.md.
Plan example() {
  Plan plan;
  plan.elements = 12;
  plan.copies = {{.writer = 0, .dimensions = 2, .first_dimension = 0, .log_offset = 64, .destination = 0},
                 {.writer = 2, .dimensions = 1, .first_dimension = 2, .log_offset = 0, .destination = 2}};
  plan.dimensions = {{4, 8, 3}, {2, 4, 1}, {4, 20, 3}};
  return plan;
}

std::vector<std::byte> encoded(const Plan& plan) {
  std::vector<std::byte> bytes;
  encode(plan, bytes);
  return bytes;
}

Plan decoded(std::span<const std::byte> bytes) {
  std::size_t position = 0;
  return replay::decode_plan(bytes, position);
}

}  // namespace

TEST_CASE("the example of the format page is encoded so, and comes back") {
  const std::vector<std::byte> bytes = encoded(example());
  const std::uint64_t two = std::uint64_t{2} << 32;
  const std::uint64_t one = std::uint64_t{1} << 32;
  const std::vector<std::uint64_t> words{0, 12, 2, 3, two, 0, 64, 0, one | 2, 2, 0,
                                         2, 4,  8, 3, 2,   4, 1,  4, 20,      3};
  REQUIRE(bytes.size() == words.size() * 8);
  CHECK(std::memcmp(bytes.data(), words.data(), bytes.size()) == 0);
  CHECK(encoded(decoded(bytes)) == bytes);
}

TEST_CASE("plans follow each other, with all their parts") {
  Plan first = example();
  first.needs_fill = true;
  first.copies[1].is_fill = true;
  first.dimensions[1].source_step_bytes = -8;
  std::vector<std::byte> bytes = encoded(first);
  encode(Plan{}, bytes);
  encode(example(), bytes);
  std::size_t position = 0;
  const Plan back = replay::decode_plan(bytes, position);
  CHECK(back.needs_fill);
  CHECK(back.copies[1].is_fill);
  CHECK(back.dimensions == first.dimensions);
  CHECK(replay::decode_plan(bytes, position).copies.empty());
  CHECK(replay::decode_plan(bytes, position).copies.size() == 2);
  CHECK(position == bytes.size());
  CHECK_THROWS_AS((void)replay::decode_plan(bytes, position), Error);
}

TEST_CASE("a plan that is cut anywhere is refused") {
  const std::vector<std::byte> bytes = encoded(example());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_THROWS_AS((void)decoded(std::span(bytes).first(length)), Error);
  }
}

TEST_CASE("counts that no message could hold are refused before memory is taken") {
  for (const std::size_t word : {2U, 3U}) {
    for (const std::uint64_t count :
         {std::uint64_t{4}, std::uint64_t{1} << 40, ~std::uint64_t{0}, std::uint64_t{1} << 61}) {
      std::vector<std::byte> bytes = encoded(example());
      std::memcpy(bytes.data() + word * 8, &count, 8);
      CHECK_THROWS_AS((void)decoded(bytes), Error);
    }
  }
}

TEST_CASE("a fill takes the fill value whatever source steps a damaged plan has") {
  test::SegmentedLog log(1);
  Plan plan;
  plan.elements = 4;
  plan.dimensions = {{2, std::int64_t{1} << 40, 2}, {2, std::int64_t{1} << 40, 1}};
  plan.copies.resize(1);
  plan.copies.front().is_fill = true;
  plan.copies.front().dimensions = 2;
  std::vector<double> values(4, 5);
  const float fill = 3;
  execute(plan, log, {.external = formats::Type::float32, .memory = formats::Type::float64, .fill = &fill},
          values.data());
  CHECK(values == std::vector<double>(4, 3));
}

TEST_CASE("damaged plans end in an error or stay within the destination") {
  std::mt19937_64 random(test::test_seed());
  test::SegmentedLog log(1000);
  const std::vector<std::byte> data(1000);
  log.append(0, data.data(), data.size(), 8);
  log.append(2, data.data(), data.size(), 8);
  const std::vector<std::byte> good = encoded(example());
  for (int round = 0; round < 50000; ++round) {
    std::vector<std::byte> bytes = good;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      if (random() % 2 == 0) {
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      } else {
        const std::uint64_t word = random() % 2 == 0 ? random() % 20 : random() >> (random() % 64);
        std::memcpy(bytes.data() + random() % (bytes.size() / 8) * 8, &word, 8);
      }
    }
    if (random() % 10 == 0) {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    }
    try {
      const Plan plan = decoded(bytes);
      if (plan.elements > 1000) continue;  // not the size that the reader asked for
      std::vector<double> values(static_cast<std::size_t>(plan.elements) + 2, 5);
      execute(plan, log, {.external = formats::Type::float32, .memory = formats::Type::float64},
              values.data() + 1);
      CHECK(values.front() == 5);
      CHECK(values.back() == 5);
    } catch (const Error& error) {
      CHECK(error.status() == NC_EIO);
    }
  }
}
