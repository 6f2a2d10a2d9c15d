#pragma once
// Get messages for tests.
#include <vector>

#include "sluice/runtime/read_lists.hpp"

namespace sluice::test {

/// A get of one access.
[[nodiscard]] inline runtime::Get get_request(std::uint64_t step, int varid,
                                              const std::vector<formats::Hyperslab>& slabs,
                                              bool is_by_writer = false) {
  std::vector<formats::HyperslabView> views;
  for (const formats::Hyperslab& slab : slabs) views.push_back(slab.view());
  runtime::GetWriter writer(step);
  writer.add(varid, views);
  runtime::Get request = writer.take();
  request.is_by_writer = is_by_writer;
  return request;
}

}  // namespace sluice::test
