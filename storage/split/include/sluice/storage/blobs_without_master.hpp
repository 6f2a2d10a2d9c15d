#pragma once
#include <string>

#include "sluice/formats/header.hpp"
#include "sluice/storage/file_system.hpp"

// Blob files as E3SM's programs write them: PATH.0000, PATH.0001, …, without PATH. See docs/formats/blobs.md
// and blobs-hdf5.md, "Without a master".
namespace sluice::storage {

/// Whether a path without a file stands for blob files.
[[nodiscard]] bool are_blobs_without_master(FileSystem& system, const std::string& path);

/// Makes the header that a master would have, including begins. Throws FormatError(NC_ENOTNC) for files that
/// are not blobs; for HDF5 files, also throws the exceptions of locate_blobs.
[[nodiscard]] formats::Header made_up_master(FileSystem& system, const std::string& path);

}  // namespace sluice::storage
