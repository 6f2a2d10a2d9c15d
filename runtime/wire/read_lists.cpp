#include "sluice/runtime/read_lists.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {
namespace {

std::size_t arrays_of(const ReadList& list) noexcept {
  return list.has_strides ? 3 : 2;
}

ReadList encoded(std::span<const formats::HyperslabView> slabs) {
  ReadList list;
  list.slabs = slabs.size();
  list.dimensions = slabs.empty() ? 0 : static_cast<std::uint32_t>(slabs.front().start.size());
  list.has_strides = std::ranges::any_of(slabs, [](const auto& slab) { return !slab.stride.empty(); });
  list.numbers.reserve(slabs.size() * list.dimensions * arrays_of(list));
  const auto append = [&](std::span<const std::int64_t> numbers) {
    list.numbers.insert(list.numbers.end(), numbers.begin(), numbers.end());
  };
  for (const formats::HyperslabView& slab : slabs) {
    append(slab.start);
    append(slab.count);
    if (!list.has_strides) continue;
    append(slab.stride);
    if (slab.stride.empty()) list.numbers.insert(list.numbers.end(), list.dimensions, 1);
  }
  return list;
}

}  // namespace

void GetWriter::add(int varid, std::span<const formats::HyperslabView> slabs) {
  const auto next = static_cast<std::uint32_t>(get_.lists.size());
  Known& known = lists_.try_emplace(slabs.data(), Known{slabs.size(), next}).first->second;
  const bool is_known = known.list != next && known.slabs == slabs.size();
  if (!is_known) {
    known = {slabs.size(), next};
    get_.lists.push_back(encoded(slabs));
  }
  get_.accesses.push_back({varid, known.list});
}

Get GetWriter::take() noexcept {
  lists_.clear();
  return std::move(get_);
}

std::vector<formats::HyperslabView> slabs_of(const ReadList& list) {
  const std::uint64_t numbers_each = std::uint64_t{list.dimensions} * arrays_of(list);
  const std::uint64_t numbers = list.numbers.size();
  const bool is_whole =
      numbers_each == 0 ? numbers == 0 : numbers % numbers_each == 0 && numbers / numbers_each == list.slabs;
  if (!is_whole || (numbers_each == 0 && list.slabs > 1)) {
    throw Error(NC_EIO, "damaged get: " + std::to_string(list.slabs) + " hyperslabs of " +
                            std::to_string(list.dimensions) + " dimensions in " + std::to_string(numbers) +
                            " numbers");
  }
  std::vector<formats::HyperslabView> slabs;
  slabs.reserve(list.slabs);
  const auto part = [&](std::uint64_t slab, std::uint64_t array) {
    return std::span(list.numbers).subspan(slab * numbers_each + array * list.dimensions, list.dimensions);
  };
  for (std::uint64_t i = 0; i < list.slabs; ++i) {
    auto& slab = slabs.emplace_back(formats::HyperslabView{part(i, 0), part(i, 1), {}});
    if (list.has_strides) slab.stride = part(i, 2);
  }
  return slabs;
}

const ReadList& list_of(const Get& get, const ReadAccess& access) {
  if (access.list < get.lists.size()) return get.lists[access.list];
  throw Error(NC_EIO,
              "damaged get: list " + std::to_string(access.list) + " of " + std::to_string(get.lists.size()));
}

}  // namespace sluice::runtime
