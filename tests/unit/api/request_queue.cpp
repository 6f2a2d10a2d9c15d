#include "request_queue.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace sluice;
using api::PendingRequest;
using api::RequestQueue;
using Kind = RequestQueue::Kind;

namespace {

PendingRequest request_for(int varid) {
  PendingRequest request;
  request.varid = varid;
  return request;
}

std::vector<int> ids_of(const std::vector<PendingRequest>& requests) {
  std::vector<int> ids;
  for (const auto& request : requests) ids.push_back(request.id);
  return ids;
}

}  // namespace

TEST_CASE("puts get even ids and gets odd ones, in the order of posting") {
  RequestQueue queue;
  CHECK(queue.post(Kind::put, request_for(0)) == 0);
  CHECK(queue.post(Kind::put, request_for(1)) == 2);
  CHECK(queue.post(Kind::get, request_for(2)) == 1);
  CHECK(queue.post(Kind::get, request_for(3)) == 3);
  CHECK(queue.size() == 4);
  CHECK(queue.contains(2));
  CHECK(queue.contains(3));
  CHECK_FALSE(queue.contains(4));
  CHECK_FALSE(queue.contains(5));
  CHECK_FALSE(queue.contains(-1));
}

TEST_CASE(
    "requests are taken oldest first, whatever the order of the ids asked for, and the others keep theirs") {
  RequestQueue queue;
  for (int i = 0; i < 6; ++i) queue.post(Kind::put, request_for(i));
  const std::vector<int> wanted{2, 6, 7, 8, 100};
  CHECK(ids_of(queue.take(Kind::put, wanted)) == std::vector<int>{2, 6, 8});
  CHECK(queue.size() == 3);
  CHECK_FALSE(queue.contains(6));
  CHECK(queue.post(Kind::put, request_for(9)) == 12);
  const auto rest = queue.take_all(Kind::put);
  CHECK(ids_of(rest) == std::vector<int>{0, 4, 10, 12});
  CHECK(rest[3].varid == 9);
  CHECK(queue.empty());
  CHECK(queue.post(Kind::put, request_for(0)) == 0);
}

TEST_CASE("an id is not given again while any request of its kind is pending") {
  RequestQueue queue;
  for (int i = 0; i < 3; ++i) queue.post(Kind::get, request_for(i));
  const std::vector<int> last{5};
  CHECK(queue.take(Kind::get, last).size() == 1);
  CHECK(queue.post(Kind::get, request_for(3)) == 7);
  CHECK(queue.take_all(Kind::get).size() == 3);
  CHECK(queue.post(Kind::get, request_for(4)) == 1);
}

TEST_CASE("a request keeps its numbers and its place in the attached buffer until it is taken") {
  RequestQueue queue;
  queue.attached.attach(100);
  auto request = request_for(3);
  std::int64_t numbers[] = {5, 7};
  const formats::HyperslabView slab{{numbers, 1}, {numbers + 1, 1}, {}};
  request.slabs = queue.recent_slabs.list_of({&slab, 1});
  numbers[0] = numbers[1] = -1;
  request.elements = 7;
  request.attached_slot = queue.attached.reserve(28);
  queue.post(Kind::put, std::move(request));
  CHECK(queue.attached.usage() == 28);
  const auto taken = queue.take_all(Kind::put);
  CHECK(queue.attached.usage() == 0);
  const auto access = taken[0].access();
  REQUIRE(access.slabs.size() == 1);
  CHECK(access.slabs[0].start[0] == 5);
  CHECK(access.slabs[0].count[0] == 7);
  CHECK(access.varid == 3);
}

TEST_CASE("requests that name the same hyperslabs share one list, others have their own") {
  RequestQueue queue;
  std::vector<std::int64_t> numbers(200);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<formats::HyperslabView> slabs;
  for (std::size_t i = 0; i + 2 <= numbers.size(); i += 2)
    slabs.push_back({{&numbers[i], 1}, {&numbers[i + 1], 1}, {}});
  const auto first = queue.recent_slabs.list_of(slabs);
  // The same numbers at another place in memory.
  const auto copy = numbers;
  std::vector<formats::HyperslabView> same;
  for (std::size_t i = 0; i + 2 <= copy.size(); i += 2)
    same.push_back({{&copy[i], 1}, {&copy[i + 1], 1}, {}});
  CHECK(queue.recent_slabs.list_of(same) == first);
  for (const std::size_t changed : {0UL, 99UL, 199UL}) {
    CAPTURE(changed);
    ++numbers[changed];
    const auto other = queue.recent_slabs.list_of(slabs);
    CHECK(other != first);
    CHECK(other->holds(slabs));
    CHECK(queue.recent_slabs.list_of(same) == first);
    --numbers[changed];
  }
  slabs.pop_back();
  CHECK(queue.recent_slabs.list_of(slabs) != first);
  slabs.back().stride = slabs.back().count;
  CHECK(queue.recent_slabs.list_of(slabs)->views().back().stride.size() == 1);
}
