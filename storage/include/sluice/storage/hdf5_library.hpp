#pragma once
#include <mutex>

#include "sluice/storage/hdf5_interface.h"

namespace sluice::storage {

/// libsluice_hdf5.so, loaded on the first call from beside this library or program. Throws
/// Error(NC_ENOTBUILT) with what to install where it is not there or cannot be loaded. Never unloaded: HDF5
/// cleans up at the end of the process.
[[nodiscard]] const sluice_hdf5_interface& hdf5_library();

/// To be held while one of its functions runs: there is one HDF5 in a process, and it is for one thread at a
/// time.
[[nodiscard]] std::mutex& hdf5_mutex() noexcept;

}  // namespace sluice::storage
