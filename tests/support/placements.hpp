// Tools for tests of placements: random maps of blobs, and offsets of single elements.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "sluice/formats/blobs.hpp"
#include "sluice/formats/placement.hpp"
#include "support/dense_reference.hpp"

namespace sluice::test {

/// Gives each element to one of the processes from `first` on; process -1 stands for none.
inline formats::DecompositionMap random_map(std::vector<int> dimids, std::int64_t elements,
                                            const formats::Blobs& blobs, int first,
                                            HyperslabGenerator& random) {
  formats::DecompositionMap map;
  map.dimids = std::move(dimids);
  map.runs.resize(static_cast<std::size_t>(blobs.processes));
  for (std::int64_t element = 0; element < elements; ++element) {
    const auto process = random.between(first, blobs.processes - 1);
    if (process < 0) continue;
    auto& runs = map.runs[static_cast<std::size_t>(process)];
    if (!runs.empty() && runs.back().offset + runs.back().length == element)
      ++runs.back().length;
    else
      runs.push_back({element, 1});
  }
  return map;
}

/// The place of each element of a hyperslab, in the order of the elements.
inline std::vector<std::int64_t> offsets_of(const formats::VariablePlace& place,
                                            const formats::HyperslabView& slab) {
  std::vector<formats::FileRun> runs;
  place.append(slab, runs);
  std::vector<std::int64_t> offsets;
  for (const auto& run : runs)
    for (std::int64_t at = 0; at < run.length_bytes; at += place.element_bytes())
      offsets.push_back(run.offset_bytes + at);
  REQUIRE(offsets.size() == static_cast<std::size_t>(slab.elements()));
  if (const auto single = place.single_run(slab); single && !offsets.empty()) {
    CHECK(single->offset_bytes == offsets.front());
    CHECK(single->length_bytes == std::ssize(offsets) * place.element_bytes());
  }
  return offsets;
}

/// If a place says that its elements lie at a fixed distance from another's, checks that they do.
inline void check_displacement(const formats::VariablePlace& place, const formats::VariablePlace& other,
                               const formats::HyperslabView& slab) {
  const auto displacement = place.displacement_from(other);
  REQUIRE(displacement);
  auto offsets = offsets_of(other, slab);
  for (std::int64_t& offset : offsets) offset += displacement->of(offset);
  CHECK(offsets == offsets_of(place, slab));
}

}  // namespace sluice::test
