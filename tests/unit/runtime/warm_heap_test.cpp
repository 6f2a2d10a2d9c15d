#include "warm_heap.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstddef>
#include <vector>

using namespace sluice;

namespace {

/// The page faults for allocating and using some large vectors.
long faults_of_vectors() {
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  for (std::size_t bytes = std::size_t{1} << 20; bytes <= std::size_t{8} << 20; bytes *= 2) {
    std::vector<std::byte> vector(bytes, std::byte{1});
    CHECK(vector.back() == std::byte{1});
  }
  ::getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

}  // namespace

TEST_CASE("a prepared heap keeps freed memory: new large vectors cause no page faults") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // sanitizers have a heap of their own
#endif
  runtime::prepare_heap(std::size_t{64} << 20);
  (void)faults_of_vectors();
  CHECK(faults_of_vectors() < 200);  // of 3840 pages
}
