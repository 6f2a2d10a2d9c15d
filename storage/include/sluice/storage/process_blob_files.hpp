#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sluice/formats/process_blobs.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Where the data of an HDF5 file of process-centric blobs is, and the bytes of its header.
struct LocatedBlobs {
  std::int64_t data_offset = 0;
  std::int64_t data_bytes = 0;
  std::string header_bytes;
};

/// Finds header_blob and data_blob by the HDF5 library. Throws Error(NC_ENOTBUILT) where that is missing,
/// FormatError(NC_ENOTNC) where the file has no such datasets, or is too short for them.
[[nodiscard]] LocatedBlobs locate_blobs(FileSystem& system, const std::string& path);

/// What a file's header_blob says. Throws FormatError(NC_ENOTNC).
[[nodiscard]] formats::ProcessBlobFile described_blobs(const LocatedBlobs& located, const std::string& path);

/// What the files' headers say, without the contents of the blobs. `paths` are the master's and the files'.
/// Throws FormatError(NC_ENOTNC).
[[nodiscard]] formats::ProcessBlobDataset describe_blobs(const formats::Header& master,
                                                         const std::vector<LocatedBlobs>& located,
                                                         const std::vector<std::string>& paths);

/// Reads from the data_blobs of a dataset's files, each opened when it is first needed. Several threads may.
[[nodiscard]] formats::BlobReader blob_reader(FileSystem& system, const formats::ProcessBlobDataset& dataset);

}  // namespace sluice::storage
