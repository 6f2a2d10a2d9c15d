#include "transfer.hpp"

#include <algorithm>
#include <exception>

#include "value_record.hpp"

namespace sluice::api {

namespace {

/// Out-of-range values do not stop the transfer of the other values.
bool has_failed(const Access& access) noexcept {
  return access.status != NC_NOERR && access.status != NC_ERANGE;
}

/// Bytes in the file: the size in the variables' types.
std::int64_t external_bytes(const formats::Header& header, std::span<const Access> accesses) noexcept {
  std::int64_t bytes = 0;
  for (const auto& access : accesses) {
    if (has_failed(access)) continue;
    bytes +=
        access.elements * static_cast<std::int64_t>(formats::size_of(header.variable(access.varid).type));
  }
  return bytes;
}

/// The record after the last one that was put. Equals `record_end`, the end of all accesses, unless some
/// accesses failed.
std::int64_t end_of_records_put(const formats::Header& header, std::span<const Access> accesses,
                                std::int64_t record_end) noexcept {
  if (std::ranges::none_of(accesses, has_failed)) return record_end;
  std::int64_t end = 0;
  for (const auto& access : accesses) {
    if (has_failed(access) || !header.is_record_variable(access.varid)) continue;
    for (const auto& slab : access.slabs) {
      if (slab.elements() > 0) end = std::max(end, slab.end_of(0));
    }
  }
  return end;
}

}  // namespace

void transfer_put(Dataset& dataset, std::span<Access> accesses, std::int64_t record_end, Mode mode) {
  const bool is_collective = mode == Mode::collective;
  // All ranks agree on the record count even if the driver failed on this rank: other ranks may have
  // succeeded.
  std::exception_ptr failure;
  try {
    if (is_collective || !accesses.empty()) {
      dataset.driver->put(dataset.header, dataset.layout, accesses, mode);
      record_end = end_of_records_put(dataset.header, accesses, record_end);
      dataset.put_bytes += external_bytes(dataset.header, accesses);
      record_puts(dataset, accesses);
    }
  } catch (...) {
    failure = std::current_exception();
    record_end = 0;
  }
  // A rank with a wrong variable id cannot know whether the other ranks' variable has records, so all ranks
  // agree after every put.
  const bool may_grow =
      is_collective ? dataset.header.record_dimension() >= 0 : record_end > dataset.header.record_count;
  if (may_grow) raise_record_count(dataset, record_end, mode);
  if (failure) std::rethrow_exception(failure);
}

void transfer_get(Dataset& dataset, std::span<Access> accesses, Mode mode) {
  if (mode == Mode::independent && accesses.empty()) return;
  dataset.driver->get(dataset.header, dataset.layout, accesses, mode);
  dataset.get_bytes += external_bytes(dataset.header, accesses);
  record_gets(dataset, accesses);
}

}  // namespace sluice::api
