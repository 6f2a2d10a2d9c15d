#include <algorithm>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/status.hpp"

namespace sluice::formats {

int check_selection(const HyperslabView& selection, std::span<const std::int64_t> shape, bool first_is_record,
                    bool can_grow) noexcept {
  const auto dimensions = shape.size();
  const auto bounded = [&](std::size_t d) { return !(d == 0 && first_is_record && can_grow); };
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (selection.start[d] < 0) return NC_EINVALCOORDS;
    if (!bounded(d)) continue;
    // One past the end is where a process that takes no part may stand.
    const bool is_past_end = selection.start[d] == shape[d] && selection.count[d] > 0;
    if (selection.start[d] > shape[d] || is_past_end) return NC_EINVALCOORDS;
  }
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (selection.count[d] < 0) return NC_ENEGATIVECNT;
  }
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (selection.stride_of(static_cast<int>(d)) <= 0) return NC_ESTRIDE;
  }
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (bounded(d) && selection.end_of(static_cast<int>(d)) > shape[d]) return NC_EEDGE;
  }
  return NC_NOERR;
}

}  // namespace sluice::formats
