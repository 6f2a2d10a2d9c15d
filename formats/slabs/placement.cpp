#include "sluice/formats/placement.hpp"

#include <algorithm>

#include "file_runs.hpp"

namespace sluice::formats {

std::int64_t Displacement::of(std::int64_t offset) const noexcept {
  if (bytes.size() == 1) return bytes.front();
  const std::int64_t within =
      record_size > 0 ? begins.front() + (offset - begins.front()) % record_size : offset;
  const auto behind = std::upper_bound(begins.begin(), begins.end(), within);
  return bytes[static_cast<std::size_t>(behind - begins.begin()) - 1];
}

PlainPlace::PlainPlace(const Header& header, const Layout& layout, int varid)
    : PlainPlace(steps_of(header, layout, varid)) {}

std::optional<FileRun> PlainPlace::single_run(const HyperslabView& slab) const {
  const auto& step_bytes = steps_.step_bytes;
  std::int64_t offset = steps_.begin;
  std::int64_t length = element_bytes();
  // From the innermost dimension outwards: the selection is one run as long as each dimension continues the
  // run.
  for (std::size_t d = slab.count.size(); d-- > 0;) {
    const std::int64_t count = slab.count[d];
    if (count == 0) return FileRun{};
    offset += slab.start[d] * step_bytes[d];
    if (count == 1) continue;
    if (step_bytes[d] != length || slab.stride_of(static_cast<int>(d)) != 1) {
      const auto rest = slab.count.first(d);
      if (std::find(rest.begin(), rest.end(), 0) != rest.end()) return FileRun{};
      return std::nullopt;
    }
    length *= count;
  }
  return FileRun{offset, length};
}

std::optional<Displacement> PlainPlace::displacement_from(const VariablePlace& other) const {
  const auto* plain = dynamic_cast<const PlainPlace*>(&other);
  if (plain == nullptr || !is_shaped_as(*plain)) return std::nullopt;
  return Displacement{{plain->steps_.begin}, {steps_.begin - plain->steps_.begin}, 0};
}

void PlainPlace::append(const HyperslabView& slab, std::vector<FileRun>& runs) const {
  append_runs(steps_, slab.start, slab.count, slab.stride, runs);
}

}  // namespace sluice::formats
