#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sluice/formats/process_blobs.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// The position of the data in an HDF5 file of process-centric blobs, and the bytes of its header.
struct LocatedBlobs {
  std::int64_t data_offset = 0;
  std::int64_t data_bytes = 0;
  std::string header_bytes;
};

/// Finds header_blob and data_blob with the HDF5 library. Throws Error(NC_ENOTBUILT) if the library is
/// missing. Throws FormatError(NC_ENOTNC) if the file lacks these datasets, or is too short for them.
[[nodiscard]] LocatedBlobs locate_blobs(FileSystem& system, const std::string& path);

/// Decodes a file's header_blob. Throws FormatError(NC_ENOTNC).
[[nodiscard]] formats::ProcessBlobFile described_blobs(const LocatedBlobs& located, const std::string& path);

/// Decodes the headers of all files, without the contents of the blobs. `paths`: the master and the files.
/// Throws FormatError(NC_ENOTNC).
[[nodiscard]] formats::ProcessBlobDataset describe_blobs(const formats::Header& master,
                                                         const std::vector<LocatedBlobs>& located,
                                                         const std::vector<std::string>& paths);

/// Reads from the data_blobs of a dataset's files; opens each file at its first use. Thread-safe.
[[nodiscard]] formats::BlobReader blob_reader(FileSystem& system, const formats::ProcessBlobDataset& dataset);

}  // namespace sluice::storage
