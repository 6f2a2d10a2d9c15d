#pragma once
#include "dataset.hpp"
#include "pnetcdf/entry.hpp"

namespace sluice::api {

/// iput, iget, bput: checks the call and appends it to the dataset's queue. Values are converted at once, so
/// a put returns NC_ERANGE here. An empty access gets no request (NC_REQ_NULL).
int post(Dataset& dataset, const AccessCall& call);

/// ncmpi_wait_all (collective) and ncmpi_wait (independent). If `count` is NC_REQ_ALL, NC_GET_REQ_ALL or
/// NC_PUT_REQ_ALL, `ids` and `statuses` are ignored. Completed ids become NC_REQ_NULL. The driver gets all
/// puts as one list, then all gets as one list. If an id is invalid, this rank completes nothing; the other
/// ranks of a collective call do. Returns the first error of ids or requests.
int wait(Dataset& dataset, int count, int* ids, int* statuses, Mode mode);

/// ncmpi_cancel: same as wait, but drops the requests. If a put in a burst-buffer log is already in the file,
/// its status is NC_EFLUSHED.
int cancel(Dataset& dataset, int count, int* ids, int* statuses);

}  // namespace sluice::api
