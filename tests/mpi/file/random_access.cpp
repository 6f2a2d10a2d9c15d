#include <doctest/doctest.h>

#include "support/seed.hpp"
#include "test_file.hpp"

namespace sluice::test {
namespace {

/// The same on all ranks.
std::uint64_t common_seed() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::uint64_t seed = rank == 0 ? test_seed() : 0;
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  return seed;
}

/// Small limits, so that small files need many rounds and batches.
api::FileOptions draw_options(HyperslabGenerator& random) {
  api::FileOptions options;
  options.alignment_bytes = std::int64_t{1} << random.between(0, 9);
  options.window_bytes = random.between(16, 3000);
  options.direct_bytes = random.between(16, 3000);
  options.gap_bytes = random.between(0, 200);
  options.move_bytes = random.between(10, 3000);
  options.batch_extents = static_cast<std::size_t>(random.between(1, random.chance(50) ? 30 : 5000));
  options.aggregators = static_cast<int>(random.between(0, 4));
  using Exchange = api::FileOptions::Exchange;
  options.put_exchange = static_cast<Exchange>(random.between(0, 2));
  options.get_exchange = static_cast<Exchange>(random.between(0, 2));
  if (random.chance(20)) {
    options = {};
    options.put_exchange = options.get_exchange = Exchange::always;
  }
  return options;
}

/// Random steps. Each repetition has its own seed, the next number. A test with that seed begins there.
void check_random_steps(TestFile::Kind kind) {
  const std::uint64_t first_seed = common_seed();
  for (std::uint64_t seed = first_seed; seed < first_seed + 25; ++seed) {
    CAPTURE(seed);
    HyperslabGenerator random(seed);
    const auto options = draw_options(random);
    const formats::Version versions[] = {formats::Version::cdf1, formats::Version::cdf2,
                                         formats::Version::cdf5};
    const auto version = versions[random.between(0, 2)];
    TestFile file(seed, options, version, kind);
    for (int step = 0; step < 12; ++step) {
      const auto mode = random.chance(50) ? api::Mode::collective : api::Mode::independent;
      switch (random.between(0, 8)) {
        case 0:
          file.redefine();
          break;
        case 1:
          file.fill();
          break;
        case 2:
          file.reopen();
          break;
        case 3:
        case 4:
          file.get_and_check(mode, 6);
          break;
        default:
          file.put(mode, 6, random.chance(50));
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    file.check_everything();
  }
}

}  // namespace

TEST_CASE("all ranks get what any rank has put, in any pattern and mode") {
  check_random_steps(TestFile::Kind::file);
}

TEST_CASE("with data in subfiles, all ranks get what any rank has put, in any pattern and mode") {
  check_random_steps(TestFile::Kind::subfiles);
}

TEST_CASE("with data in blobs, all ranks get what any rank has put, in any pattern and mode") {
  check_random_steps(TestFile::Kind::blobs);
}

}  // namespace sluice::test
