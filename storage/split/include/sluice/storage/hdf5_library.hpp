#pragma once
#include <mutex>

#include "sluice/storage/hdf5_interface.h"

namespace sluice::storage {

/// Loads libsluice_hdf5.so on the first call, from the directory of this library or program. Throws
/// Error(NC_ENOTBUILT) with installation advice if the library is missing or cannot be loaded. The library is
/// never unloaded, because HDF5 cleans up at the end of the process.
[[nodiscard]] const sluice_hdf5_interface& hdf5_library();

/// Hold this mutex during each call of the library: a process has one HDF5, for one thread at a time.
[[nodiscard]] std::mutex& hdf5_mutex() noexcept;

}  // namespace sluice::storage
