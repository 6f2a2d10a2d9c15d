#include <cstddef>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/status.hpp"

namespace sluice::formats {

namespace {

/// Whether a range that starts inside its dimension ends beyond it. PnetCDF first checks the range without
/// its stride. Therefore too many elements are an edge error even if the stride is illegal.
bool leaves_dimension(std::int64_t start, std::int64_t count, std::int64_t stride, std::int64_t length) {
  if (count > length - start) return true;
  if (count == 0) return false;
  __extension__ using Wide = __int128;
  return start + static_cast<Wide>(count - 1) * stride >= length;
}

}  // namespace

int check_selection(const HyperslabView& selection, std::span<const std::int64_t> shape, bool first_is_record,
                    bool can_grow, StartRule start_rule) noexcept {
  const auto dimensions = shape.size();
  const auto bounded = [&](std::size_t d) { return !(d == 0 && first_is_record && can_grow); };
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (selection.start[d] < 0) return NC_EINVALCOORDS;
    if (!bounded(d)) continue;
    // A process that takes no part may start one past the end.
    const bool is_past_end =
        selection.start[d] == shape[d] && (selection.count[d] > 0 || start_rule == StartRule::strict);
    if (selection.start[d] > shape[d] || is_past_end) return NC_EINVALCOORDS;
  }
  for (std::size_t d = 0; d < dimensions; ++d) {
    const auto count = selection.count[d];
    if (count < 0) return NC_ENEGATIVECNT;
    const auto stride = selection.stride_of(static_cast<int>(d));
    if (bounded(d) && leaves_dimension(selection.start[d], count, stride, shape[d])) return NC_EEDGE;
  }
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (selection.stride_of(static_cast<int>(d)) <= 0) return NC_ESTRIDE;
  }
  return NC_NOERR;
}

}  // namespace sluice::formats
