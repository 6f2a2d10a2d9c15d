#include "selection.hpp"

#include <algorithm>
#include <limits>

#include "sluice/formats/status.hpp"

namespace sluice::api {

using formats::Header;
using formats::HyperslabView;

namespace {

/// A shorter list takes no longer to check than to find again.
constexpr std::size_t least_known = 16;

/// A user's array as a span. MPI_Offset and int64_t are two names of one 64-bit integer here; another
/// translation unit wrote the array.
std::span<const std::int64_t> as_span(const MPI_Offset* numbers, std::size_t n) noexcept {
  static_assert(sizeof(MPI_Offset) == sizeof(std::int64_t));
  return {reinterpret_cast<const std::int64_t*>(numbers), numbers == nullptr ? 0 : n};
}

/// Starts beyond the 32-bit record number of CDF-1 and CDF-2 are out of bounds.
std::int64_t record_limit(const Header& header) noexcept {
  return header.version == formats::Version::cdf5 ? std::numeric_limits<std::int64_t>::max()
                                                  : std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

int Selection::resolve(const AccessCall& call, const Header& header, bool is_put,
                       formats::StartRule start_rule, const RecentSlabs* recent, KnownLists* known) {
  start_rule_ = start_rule;
  set_shape(header, call.varid, is_put);
  const int status = call.shape == Shape::varn ? resolve_list(call, recent, known) : resolve_single(call);
  if (status != NC_NOERR) return status;
  const bool overflows = is_put && header.version != formats::Version::cdf5 &&
                         record_end_ > std::numeric_limits<std::int32_t>::max();
  return overflows ? NC_EINTOVERFLOW : NC_NOERR;
}

void Selection::set_shape(const Header& header, int varid, bool is_put) {
  const auto& dimids = header.variable(varid).dimids;
  shape_.assign(dimids.size(), 0);
  for (std::size_t d = 0; d < dimids.size(); ++d) shape_[d] = header.dimension(dimids[d]).length;
  is_put_ = is_put;
  is_record_variable_ = !dimids.empty() && header.dimension(dimids[0]).is_record;
  records_ = header.record_count;
  if (is_record_variable_) shape_[0] = is_put ? record_limit(header) : records_;
}

int Selection::resolve_single(const AccessCall& call) {
  const auto dimensions = shape_.size();
  if (dimensions == 0) return add(single_);
  if (call.shape == Shape::var) {
    zeros_.assign(dimensions, 0);
    if (is_record_variable_) shape_[0] = records_;
    single_ = {zeros_.view(), shape_.view(), {}};
  } else {
    if (call.start == nullptr) return NC_EINVALCOORDS;
    const auto start = as_span(call.start, dimensions);
    if (call.shape == Shape::var1 || call.count == nullptr) {
      ones_.assign(dimensions, 1);
      single_ = {start, ones_.view(), {}};
    } else {
      single_ = {start, as_span(call.count, dimensions), as_span(call.stride, dimensions)};
    }
    const int status = check(single_);
    if (call.shape != Shape::var1 && call.count == nullptr)
      return status == NC_EINVALCOORDS ? status : NC_EEDGE;
    if (status != NC_NOERR) return status;
    if (std::ranges::all_of(single_.stride, [](std::int64_t s) { return s == 1; })) single_.stride = {};
  }
  return add(single_);
}

std::optional<ListBounds> Selection::bounds() const noexcept {
  ListBounds bounds;
  if (shape_.size() > bounds.shape.size()) return std::nullopt;
  std::ranges::copy(shape_.view(), bounds.shape.begin());
  bounds.dimensions = shape_.size();
  bounds.is_record_variable = is_record_variable_;
  bounds.is_strict = start_rule_ == formats::StartRule::strict;
  return bounds;
}

/// Whether another request or an earlier call used the same list, and the list was checked against the same
/// bounds.
bool Selection::find_list(const AccessCall& call, const RecentSlabs* recent, KnownLists* known) {
  const auto against = bounds();
  if (!against) return false;
  const VarnList named{static_cast<std::size_t>(call.list_length), shape_.size(), call.starts, call.counts};
  CheckedList checked;
  if (const auto* const found = recent == nullptr ? nullptr : recent->find(named, *against)) checked = *found;
  if (!checked.list && known != nullptr) checked = known->find(named, *against);
  if (!checked.list) return false;
  known_ = checked.list;
  elements_ = checked.elements;
  record_end_ = checked.record_end;
  return true;
}

std::shared_ptr<const formats::SlabList> Selection::keep(RecentSlabs& recent) const {
  if (known_) return known_;
  auto list = recent.list_of(slabs());
  const auto against = bounds();
  const bool is_all = list_.size() == named_ && named_ >= least_known;
  if (is_all && against) recent.remember({list, *against, elements_, record_end_});
  return list;
}

int Selection::resolve_list(const AccessCall& call, const RecentSlabs* recent, KnownLists* known) {
  const auto dimensions = shape_.size();
  if (dimensions == 0) {
    // A scalar has one element: any other list is an error.
    if (call.list_length == 0) return NC_NOERR;
    return call.list_length == 1 ? add(single_) : NC_EINVAL;
  }
  if (call.list_length != 0 && call.starts == nullptr) return NC_ENULLSTART;
  const auto n = static_cast<std::size_t>(std::max(call.list_length, 0));
  if (n >= least_known && find_list(call, recent, known)) return NC_NOERR;
  named_ = n;
  ones_.assign(dimensions, 1);
  list_.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (call.starts[i] == nullptr) return NC_ENULLSTART;
    const auto* count = call.counts == nullptr ? nullptr : call.counts[i];
    const HyperslabView slab{as_span(call.starts[i], dimensions),
                             count == nullptr ? ones_.view() : as_span(count, dimensions),
                             {}};
    int status = check(slab);
    if (status == NC_NOERR) status = add(slab);
    if (status != NC_NOERR) return status;
  }
  const auto against = bounds();
  if (known != nullptr && against && list_.size() == n && n >= least_known)
    known->remember(list_, {nullptr, *against, elements_, record_end_});
  return NC_NOERR;
}

int Selection::check(const HyperslabView& slab) const noexcept {
  const auto shape = shape_.view();
  if (slab.stride.empty() && start_rule_ == formats::StartRule::relaxed) {
    bool is_inside = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto start = slab.start[d];
      const auto count = slab.count[d];
      is_inside = is_inside && start >= 0 && count >= 0 && start <= shape[d] - count;
    }
    if (is_inside) return NC_NOERR;
  }
  return formats::check_selection(slab, shape, false, false, start_rule_);
}

int Selection::add(const HyperslabView& slab) {
  // As in PnetCDF, an empty put creates the records that it selects; an empty part of a list does not.
  const bool is_list = list_.capacity() != 0;
  const bool is_empty = std::ranges::find(slab.count, 0) != slab.count.end();
  if (is_record_variable_ && slab.count[0] > 0 && !(is_list && is_empty)) {
    const auto last = slab.start[0] + (slab.count[0] - 1) * slab.stride_of(0);
    record_end_ = std::max(record_end_, last + 1);
  }
  std::int64_t elements = 1;
  for (const auto count : slab.count) {
    if (count == 0) return NC_NOERR;
    if (__builtin_mul_overflow(elements, count, &elements)) return NC_EINTOVERFLOW;
  }
  if (__builtin_add_overflow(elements_, elements, &elements_)) return NC_EINTOVERFLOW;
  if (is_list) {
    list_.push_back(slab);
  } else {
    single_ = slab;
    single_count_ = 1;
  }
  return NC_NOERR;
}

}  // namespace sluice::api
