#include "sluice/formats/linear_range.hpp"

#include <doctest/doctest.h>

#include "support/dense_reference.hpp"
#include "support/seed.hpp"

namespace sluice::formats {

TEST_CASE("the boxes of a range have its elements in their order, two for each dimension at most") {
  test::HyperslabGenerator random(test::test_seed());
  for (int repetition = 0; repetition < 500; ++repetition) {
    const auto dimensions = static_cast<std::size_t>(random.between(0, 4));
    const auto shape = random.shape(dimensions, 300);
    const std::int64_t elements = test::elements_of(shape);
    const std::int64_t first = random.between(0, elements - 1);
    const std::int64_t count = random.between(0, elements - first);
    std::int64_t next = first;
    std::size_t boxes = 0;
    for_each_box(shape, first, count, [&](const HyperslabView& box) {
      ++boxes;
      test::for_each_element(box, [&](const std::vector<std::int64_t>& index, std::int64_t) {
        CHECK(test::position_of(shape, index) == static_cast<std::size_t>(next++));
      });
    });
    CHECK(next == first + count);
    CHECK(boxes <= std::max<std::size_t>(1, 2 * dimensions));
  }
}

}  // namespace sluice::formats
