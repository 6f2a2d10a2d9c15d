// Lists of elements that are alike, as differences: what they take, and damage.
#include "differences.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "control_protocol.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

using Numbers = std::vector<std::uint64_t>;

std::vector<std::byte> encode_all(const std::vector<Numbers>& elements) {
  Differences differences;
  std::vector<std::byte> all;
  for (const Numbers& numbers : elements) {
    const auto bytes = differences.encode(numbers);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

void check_round_trip(const std::vector<Numbers>& elements) {
  const std::vector<std::byte> all = encode_all(elements);
  std::span<const std::byte> left = all;
  Differences differences;
  for (const Numbers& numbers : elements) {
    const auto used = differences.decode(left);
    REQUIRE(used.has_value());
    CHECK(std::ranges::equal(differences.numbers(), numbers));
    left = left.subspan(*used);
  }
  CHECK(left.empty());
}

Closes some_publications(std::uint64_t count) {
  Closes several;
  for (std::uint64_t i = 0; i < count; ++i) {
    PublishRequest publish{9, -1, {1, 65536, 0, 0, 10, 0}};
    publish.pattern.requests = {77, 78};
    publish.extent = {true, 1, {{0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1}}};
    publish.ranges = {{0, 0, 65536, (std::uint64_t{5} << 48) + i, 0}};
    publish.position = {1, 200, 0};
    several.requests.push_back({100 + i, static_cast<std::uint32_t>(7 * i), {std::move(publish)}});
  }
  return several;
}

PublishRequest& publication(Closes& several, std::size_t i) {
  return std::get<PublishRequest>(several.requests[i].request.how);
}

}  // namespace

TEST_CASE("numbers come back from their differences") {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  constexpr auto least_signed = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min());
  check_round_trip({});
  check_round_trip({{1, 2, 3}});
  check_round_trip({{1, 2, 3}, {2, 4, 3}, {3, 6, 3}, {3, 6, 3}, {4, 6, 3}});
  check_round_trip({{0, most}, {most, 0}, {least_signed, most / 2}, {0, most}, {most, 0}});
  check_round_trip({{1}, {1, 2}, {2, 3}, {}, {5}, {5}});
  check_round_trip({Numbers(300, 5), Numbers(300, 5), Numbers(256, 5), Numbers(256, 6)});
  std::mt19937_64 random(test::test_seed());
  for (int round = 0; round < 200; ++round) {
    std::vector<Numbers> elements(random() % 20, Numbers(random() % 70));
    Numbers value(70);
    for (Numbers& element : elements) {
      for (std::uint64_t& number : value)
        if (random() % 3 == 0) number += random() >> (random() % 64);
      if (random() % 8 == 0) element.resize(random() % 70);
      std::copy_n(value.begin(), element.size(), element.begin());
    }
    check_round_trip(elements);
  }
}

TEST_CASE("elements that go on as the last ones did take a byte") {
  std::vector<Numbers> elements;
  for (std::uint64_t i = 0; i < 1000; ++i) elements.push_back({i, 4096 * i, 17, ~i});
  CHECK(encode_all(elements).size() < 1100);
  CHECK(encode(MessageToRegistry{3, some_publications(64)}).size() <
        encode(MessageToRegistry{3, some_publications(3)}).size() + 64);
}

TEST_CASE("damaged differences are noticed") {
  const auto is_damaged = [](std::initializer_list<int> values) {
    std::vector<std::byte> bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return !Differences().decode(bytes).has_value();
  };
  CHECK(is_damaged({}));
  CHECK(is_damaged({3}));                                                          // no such kind
  CHECK(is_damaged({2, 6, 0, 0}));                                                 // three numbers, and two
  CHECK(is_damaged({2, 2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}));  // a number without end
  const std::vector<std::byte> good = encode_all({{1, 2, 3000}, {2, 4, 3001}});
  for (std::size_t length = 0; length < good.size(); ++length) {
    Differences differences;
    const auto cut = std::span(good).first(length);
    const auto first = differences.decode(cut);
    CHECK_FALSE((first && differences.decode(cut.subspan(*first))));
  }
  // a difference for a number that the element has not
  Differences differences;
  REQUIRE(differences.decode(encode_all({{1, 2, 3}})).has_value());
  const std::vector<std::byte> beyond{std::byte{1}, std::byte{8}, std::byte{2}};
  CHECK_FALSE(differences.decode(beyond).has_value());
}

TEST_CASE("a long element is not repeated by a byte") {
  Differences differences;
  REQUIRE(differences.decode(encode_all({Numbers(Differences::most_numbers + 1, 5)})).has_value());
  const std::vector<std::byte> repeated{std::byte{0}};
  CHECK_FALSE(differences.decode(repeated).has_value());
}

TEST_CASE("publications of a matcher come back as they were") {
  Closes sent = some_publications(5);
  publication(sent, 1).file_bytes = 12;
  publication(sent, 2).extent.dimensions.clear();
  publication(sent, 3).ranges.push_back({1, 2, 3, 4, 5});
  const auto encoded = encode(MessageToRegistry{3, sent});
  auto message = decode<MessageToRegistry>(encoded);
  auto& received = std::get<Closes>(message.body);
  REQUIRE(received.requests.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    const PublishRequest& publish = publication(received, i);
    CHECK(received.requests[i].connection == 100 + i);
    CHECK(received.requests[i].tag == 7 * i);
    CHECK(publish.record_count == -1);
    CHECK(publish.file_bytes == publication(sent, i).file_bytes);
    CHECK(publish.ranges == publication(sent, i).ranges);
    CHECK(publish.extent.dimensions == publication(sent, i).extent.dimensions);
    CHECK(publish.pattern.requests == publication(sent, i).pattern.requests);
  }
  CHECK(encode(MessageToRegistry{3, received}) == encoded);
}

TEST_CASE("a number that does not fit is an error that says so") {
  auto fields = encode(MessageToRegistry{3, Closes{{{7, 8, {ReadEnd{9, {}}}}}}});
  CHECK(std::get<Closes>(decode<MessageToRegistry>(fields).body).requests[0].tag == 8);
  // The tag is the second number of the first element: kind, count, connection, tag.
  const auto tag = std::ranges::find(fields, std::byte{16});
  REQUIRE(tag != fields.end());
  fields[static_cast<std::size_t>(tag - fields.begin())] = std::byte{15};  // -8
  CHECK_THROWS_WITH_AS((void)decode<MessageToRegistry>(fields), doctest::Contains("a number of"), Error);
}
