#include "access.hpp"

#include <span>

#include "collective_checks.hpp"
#include "dataset_table.hpp"
#include "guard.hpp"
#include "nonblocking.hpp"
#include "pnetcdf/entry.hpp"
#include "prepared_access.hpp"
#include "transfer.hpp"

namespace sluice::api {

int perform(Dataset& dataset, const AccessCall& call) {
  if (const int status = check_mode(dataset, call); status != NC_NOERR) return status;
  PreparedAccess prepared;
  const int status = prepare(dataset, call, prepared);
  if (call.is_collective) {
    const int shared = status_of_all(dataset, status);
    if (shared != NC_NOERR) return shared;
  }
  return perform_prepared(dataset, call, prepared, status);
}

int perform_prepared(Dataset& dataset, const AccessCall& call, PreparedAccess& prepared, int status) {
  const bool writes = is_put(call.verb);
  const auto mode = call.is_collective ? Mode::collective : Mode::independent;
  std::unique_ptr<std::byte[]> row;
  if (status == NC_NOERR && prepared.scattered && !prepared.is_empty()) {
    status = prepare_row(prepared, writes, row);
  }
  if (status != NC_NOERR && !call.is_collective) return status;

  // A rank with a bad argument still takes part with an empty request: the other ranks would wait for it.
  const bool takes_part = status == NC_NOERR;
  const auto accesses = takes_part ? prepared.accesses() : std::span<Access>();
  if (writes) {
    transfer_put(dataset, accesses, takes_part ? prepared.record_end : 0, mode);
  } else {
    transfer_get(dataset, accesses, mode);
    const int transferred = prepared.status();
    if (transferred == NC_ERANGE && prepared.is_long) {
      fill_longs(static_cast<std::int64_t*>(prepared.access.buffer), prepared.access.elements);
    }
    const bool was_read = !accesses.empty() && (transferred == NC_NOERR || transferred == NC_ERANGE);
    if (was_read && prepared.scattered) prepared.scattered->scatter(row.get());
  }
  if (!takes_part) return status;
  // A get flushes earlier puts. As in PnetCDF, the status of the flush comes first.
  const int of_flush = writes ? NC_NOERR : dataset.driver->take_flush_status();
  return of_flush != NC_NOERR ? of_flush : prepared.status();
}

int access(const AccessCall& call) noexcept {
  return guard([&] {
    const DatasetUse dataset(call.ncid);
    return is_blocking(call.verb) ? perform(*dataset, call) : post(*dataset, call);
  });
}

}  // namespace sluice::api
