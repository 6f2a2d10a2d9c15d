#pragma once
// Seeds of random tests. A test draws all its numbers from one seed. It prints the seed before it begins, so
// that even a crash shows the seed. SLUICE_TEST_SEED=N repeats the test with seed N: N replaces all other
// seeds, and a test that tries several seeds tries only N. seed.h does the same for C, and
// tests/system/harness.py for Python. Shell scripts read the variable themselves.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

/// The value of SLUICE_TEST_SEED, if it is set. Throws std::invalid_argument unless it is a number.
[[nodiscard]] inline std::optional<std::uint64_t> given_seed() {
  const char* text = std::getenv("SLUICE_TEST_SEED");
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::stoull(text);
}

/// Where a function was called. With libstdc++, clang 14 has no std::source_location.
struct CallPlace {
  std::string_view path;
  int line = 0;
};

/// The given seed, or else `usual`. Prints the seed with the caller's place.
[[nodiscard]] inline std::uint64_t test_seed(std::uint64_t usual,
                                             const CallPlace& place = {__builtin_FILE(), __builtin_LINE()}) {
  const std::uint64_t seed = given_seed().value_or(usual);
  const std::string name(place.path.substr(place.path.rfind('/') + 1));
  std::printf("%s:%d: SLUICE_TEST_SEED=%ju\n", name.c_str(), place.line, static_cast<std::uintmax_t>(seed));
  std::fflush(stdout);
  return seed;
}

/// The given seed, or else a new one. Prints the seed with the caller's place.
[[nodiscard]] inline std::uint64_t test_seed(const CallPlace& place = {__builtin_FILE(), __builtin_LINE()}) {
  return test_seed(std::random_device{}(), place);
}

/// The seeds for a test that tries several: only the given one, or else 1 to `count`. The test itself prints
/// the seed of a failure.
[[nodiscard]] inline std::vector<std::uint64_t> test_seeds(std::size_t count) {
  if (const auto seed = given_seed()) return {*seed};
  std::vector<std::uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), std::uint64_t{1});
  return seeds;
}

}  // namespace sluice::test
