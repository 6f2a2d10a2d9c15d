#include "file_domains.hpp"

#include <doctest/doctest.h>

#include "support/dense_reference.hpp"
#include "support/seed.hpp"

namespace sluice::api {
namespace {

/// For each byte of [0, size), the number of windows that contain it.
std::vector<int> windows_over(const FileDomains& domains, std::int64_t size, std::int64_t window_bytes) {
  std::vector<int> owners(static_cast<std::size_t>(size), 0);
  for (int a = 0; a < domains.aggregators(); ++a) {
    for (std::size_t round = 0; round < domains.rounds(); ++round) {
      const FileRange window = domains.window(a, round);
      CHECK(window.size() <= window_bytes);
      for (std::int64_t i = window.begin; i < window.end; ++i) ++owners[static_cast<std::size_t>(i)];
    }
  }
  return owners;
}

}  // namespace

TEST_CASE("an even division gives each byte to one window") {
  FileOptions options;
  for (const std::uint64_t seed : test::test_seeds(100)) {
    CAPTURE(seed);
    test::HyperslabGenerator random(seed);
    options.window_bytes = random.between(1, 500);
    options.alignment_bytes = random.between(1, 64);
    const std::int64_t begin = random.between(0, 1000);
    const std::int64_t end = begin + random.between(1, 3000);
    const auto domains = FileDomains::even({begin, end}, static_cast<int>(random.between(1, 5)), options);
    const auto owners = windows_over(domains, 4000, options.window_bytes);
    for (std::int64_t i = 0; i < 4000; ++i)
      CHECK(owners[static_cast<std::size_t>(i)] == (i >= begin && i < end ? 1 : 0));
  }
}

TEST_CASE("a balanced division covers the touched parts once, and leaves large gaps out") {
  FileOptions options;
  options.window_bytes = 1 << 20;
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  const FileRange hull{1000, 5000 * gib};
  LoadMap loads(hull, options.alignment_bytes);
  loads.add({1000, 2000});
  loads.add({3000 * gib, 3000 * gib + 1000});
  loads.add({5000 * gib - 10, 5000 * gib});
  const auto domains = FileDomains::balanced(loads, 2, options);
  std::int64_t covered = 0;
  bool has_first = false;
  bool has_last = false;
  for (int a = 0; a < 2; ++a) {
    for (std::size_t round = 0; round < domains.rounds(); ++round) {
      const FileRange window = domains.window(a, round);
      covered += window.size();
      has_first = has_first || (window.begin <= 1000 && window.end >= 2000);
      has_last = has_last || window.end == hull.end;
    }
  }
  CHECK(has_first);
  CHECK(has_last);
  CHECK(covered < 6 * gib);
}

TEST_CASE("small pieces are exchanged, large ones and single values are not") {
  const FileOptions options;
  const auto is_exchanged = [&](std::int64_t extents, std::int64_t extent_bytes, std::int64_t run_bytes) {
    RequestSummary summary;
    summary.bytes = extents * extent_bytes;
    summary.extents = extents;
    summary.runs = run_bytes == 0 ? extents : 1;
    summary.run_bytes = run_bytes == 0 ? summary.bytes : run_bytes;
    const std::vector<RequestSummary> summaries(4, summary);
    return is_exchange_better(summaries, options, FileOptions::Exchange::automatic);
  };
  CHECK(is_exchanged(60000, 4, 0));
  CHECK(is_exchanged(4096, 512, 0));
  CHECK(!is_exchanged(1, 8, 0));
  CHECK(!is_exchanged(64, 1 << 20, 0));
  // Reading: each of four ranks reads whole columns.
  CHECK(!is_exchanged(65536, 128, 65536 * 512));
}

TEST_CASE("aggregators are taken from the nodes in turn") {
  const std::vector<int> node_of_rank{0, 0, 0, 3, 3, 5};
  FileOptions options;
  options.aggregators = 4;
  CHECK(choose_aggregators(node_of_rank, options) == std::vector<int>{0, 3, 5, 1});
  options.aggregators = 0;
  options.aggregators_per_node = 1;
  CHECK(choose_aggregators(node_of_rank, options) == std::vector<int>{0, 3, 5});
  options.aggregators_per_node = 0;
  CHECK(choose_aggregators(std::vector<int>{0, 0, 0, 0, 4}, options) == std::vector<int>{0, 4, 1});
}

}  // namespace sluice::api
