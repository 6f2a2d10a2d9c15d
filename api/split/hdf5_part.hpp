#pragma once
#include <mpi.h>

#include "sluice/formats/error.hpp"
#include "sluice/storage/hdf5_library.hpp"

namespace sluice::api {

/// The part of Sluice that needs HDF5. It is built with Open MPI's HDF5, which would bring Open MPI into a
/// process of another MPI. Throws Error(NC_ENOTBUILT) there, and where the part is missing.
[[nodiscard]] inline const sluice_hdf5_interface& hdf5_part() {
#ifndef OPEN_MPI
  throw Error(
      NC_ENOTBUILT,
      "process-centric blobs (sluice_layout=blob-process) need HDF5 for Open MPI, and this program has "
      "another MPI: use sluice_layout=blob");
#else
  return storage::hdf5_library();
#endif
}

}  // namespace sluice::api
