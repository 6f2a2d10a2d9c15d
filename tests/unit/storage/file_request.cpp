#include "sluice/storage/file_request.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "sluice/formats/layout.hpp"
#include "support/dense_reference.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

/// int array(a, b, c); one hyperslab of it is accessed.
struct World {
  formats::Header header;
  formats::Layout layout;
  formats::Hyperslab slab;

  World(const std::vector<std::int64_t>& shape, formats::Hyperslab selected) : slab(std::move(selected)) {
    formats::Variable variable;
    variable.name = "array";
    variable.type = formats::Type::int32;
    for (const std::int64_t length : shape)
      variable.dimids.push_back(header.add_dimension(
          {std::string(1, static_cast<char>('a' + header.dimension_count())), length, false}));
    header.add_variable(variable);
    layout = formats::compute_layout(header, {}, nullptr);
  }

  /// The file offset of each element, in the order of the buffer.
  [[nodiscard]] std::vector<std::int64_t> offsets() const {
    std::vector<std::int64_t> result;
    const auto shape = header.shape(0);
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::int64_t element = 0; element < slab.view().elements(); ++element) {
      std::int64_t rest = element;
      std::int64_t offset = 0;
      std::int64_t step = 4;
      for (std::size_t d = shape.size(); d-- > 0;) {
        offset += (slab.start[d] + rest % slab.count[d] * slab.view().stride_of(static_cast<int>(d))) * step;
        rest /= slab.count[d];
        step *= shape[d];
      }
      result.push_back(header.variable(0).begin + offset);
    }
    return result;
  }

  /// The same by the batches of a request; -1 for an element that is in no batch, or in two.
  [[nodiscard]] std::vector<std::int64_t> offsets_of_batches(std::size_t limit) const {
    std::vector<std::int64_t> result(static_cast<std::size_t>(slab.view().elements()), -1);
    const formats::FilePlacement placement(header, layout);
    const std::vector slabs{slab.view()};
    Access access{
        .varid = 0, .slabs = slabs, .memory = formats::Type::int32, .elements = slab.view().elements()};
    FileRequest request(header, placement, {&access, 1}, FileRequest::Kind::get);
    while (request.has_more()) {
      request.next_batch(limit);
      std::int64_t bytes = 0;
      for (const Extent& extent : request.extents()) {
        bytes += extent.length_bytes();
        for (std::int64_t i = 0; i < extent.elements; ++i) {
          auto& offset = result[static_cast<std::size_t>(extent.first_element + i)];
          offset = offset == -1 ? extent.offset_bytes + 4 * i : -1;
        }
      }
      CHECK(request.bytes() == bytes);
      CHECK(std::ranges::is_sorted(request.extents(), {}, &Extent::offset_bytes));
    }
    return result;
  }
};

}  // namespace

TEST_CASE("each element of a hyperslab of very many runs is in one batch, whatever its size") {
  const World worlds[] = {
      {{5000, 4}, {{3, 1}, {4990, 2}, {}}},                 // one run for each row
      {{40, 70, 6}, {{1, 2, 1}, {38, 66, 3}, {}}},          // rows in two dimensions
      {{3, 50, 100}, {{0, 1, 2}, {3, 40, 30}, {1, 1, 3}}},  // each element is a run
      {{5, 30, 20}, {{0, 0, 0}, {3, 30, 20}, {2, 1, 1}}},   // few long runs
      {{9000}, {{5}, {2900}, {3}}},
  };
  for (const World& world : worlds) {
    for (const std::size_t limit :
         {std::size_t{7}, std::size_t{1000}, std::size_t{2500}, std::size_t{1} << 18}) {
      CAPTURE(limit);
      CHECK(world.offsets_of_batches(limit) == world.offsets());
    }
  }
}
