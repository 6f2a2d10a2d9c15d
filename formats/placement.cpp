#include "sluice/formats/placement.hpp"

#include <algorithm>

namespace sluice::formats {

std::int64_t Displacement::of(std::int64_t offset) const noexcept {
  if (bytes.size() == 1) return bytes.front();
  const std::int64_t within =
      record_size > 0 ? begins.front() + (offset - begins.front()) % record_size : offset;
  const auto behind = std::upper_bound(begins.begin(), begins.end(), within);
  return bytes[static_cast<std::size_t>(behind - begins.begin()) - 1];
}

PlainPlace::PlainPlace(const Header& header, const Layout& layout, int varid)
    : VariablePlace(static_cast<std::int64_t>(size_of(header.variable(varid).type))),
      header_(header),
      layout_(layout),
      varid_(varid),
      begin_(header.variable(varid).begin) {
  const auto& variable = header.variable(varid);
  const std::size_t dimensions = variable.dimids.size();
  step_bytes_.resize(dimensions);
  std::int64_t step = element_bytes();
  for (std::size_t d = dimensions; d-- > 0;) {
    const auto& dimension = header.dimension(variable.dimids[d]);
    step_bytes_[d] = dimension.is_record ? layout.record_size : step;
    step *= dimension.length;
  }
}

std::optional<FileRun> PlainPlace::single_run(const HyperslabView& slab) const {
  std::int64_t offset = begin_;
  std::int64_t length = element_bytes();
  // From the inside out: as long as what a dimension adds continues what is there, it is one run.
  for (std::size_t d = slab.count.size(); d-- > 0;) {
    const std::int64_t count = slab.count[d];
    if (count == 0) return FileRun{};
    offset += slab.start[d] * step_bytes_[d];
    if (count == 1) continue;
    if (step_bytes_[d] != length || slab.stride_of(static_cast<int>(d)) != 1) {
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
  return Displacement{{plain->begin_}, {begin_ - plain->begin_}, 0};
}

void PlainPlace::append(const HyperslabView& slab, std::vector<FileRun>& runs) const {
  append_runs(header_, layout_, varid_, slab.start, slab.count, slab.stride, runs);
}

}  // namespace sluice::formats
