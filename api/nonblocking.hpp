#pragma once
#include "dataset.hpp"
#include "pnetcdf/entry.hpp"

namespace sluice::api {

/// iput, iget, bput: checks the call and appends it to the dataset's queue. What has to be converted is
/// converted at once, so that NC_ERANGE of a put is this call's status. An empty access gets no request
/// (NC_REQ_NULL).
int post(Dataset& dataset, const AccessCall& call);

/// ncmpi_wait_all (collective) and ncmpi_wait (independent): `count` may be NC_REQ_ALL, NC_GET_REQ_ALL or
/// NC_PUT_REQ_ALL; then `ids` and `statuses` are not looked at. Completed ids become NC_REQ_NULL. All puts go
/// to the driver as one list, then all gets as one. When one id is invalid nothing is done but by the others
/// of a collective call. Returns the first error, of ids or of requests.
int wait(Dataset& dataset, int count, int* ids, int* statuses, Mode mode);

/// ncmpi_cancel: as wait, but the requests are dropped. The status of a put that a log had taken and
/// that is in the file already is NC_EFLUSHED.
int cancel(Dataset& dataset, int count, int* ids, int* statuses);

}  // namespace sluice::api
