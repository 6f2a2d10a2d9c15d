#pragma once
#include "sluice/storage/hdf5_interface.h"

namespace sluice::storage {

/// libsluice_hdf5.so, loaded on the first call from beside this library or program. Throws
/// Error(NC_ENOTBUILT) with what to install where it is not there or cannot be loaded. Never unloaded: HDF5
/// cleans up at the end of the process.
[[nodiscard]] const sluice_hdf5_interface& hdf5_library();

/// Throws what a function of the library said. `status` where the text does not tell.
void check_hdf5(int result, const char* what, int status);

}  // namespace sluice::storage
