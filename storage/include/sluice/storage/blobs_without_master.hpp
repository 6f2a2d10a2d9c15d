#pragma once
#include <string>

#include "sluice/formats/header.hpp"
#include "sluice/storage/file_system.hpp"

// Blob files as E3SM's programs write them: PATH.0000, PATH.0001, … and no PATH. docs/formats/blobs.md and
// blobs-hdf5.md, "Without a master".
namespace sluice::storage {

/// Whether a path at which there is no file stands for blob files.
[[nodiscard]] bool are_blobs_without_master(FileSystem& system, const std::string& path);

/// The header of the master that they would have, with its begins. Throws FormatError(NC_ENOTNC) for files
/// that are no blobs, and, for those in HDF5, what locate_blobs throws.
[[nodiscard]] formats::Header made_up_master(FileSystem& system, const std::string& path);

}  // namespace sluice::storage
