#include "warm_heap.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstddef>
#include <vector>

using namespace sluice;

namespace {

/// Page faults of taking and using some large vectors.
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

TEST_CASE("a prepared heap keeps what was freed: large vectors are taken again without page faults") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // their heap is another
#endif
  runtime::prepare_heap(std::size_t{64} << 20);
  (void)faults_of_vectors();
  CHECK(faults_of_vectors() < 200);  // of 3840 pages
}
