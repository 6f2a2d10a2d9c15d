#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "sluice/formats/blob_placement.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Reads the bytes of all decomposition maps in a blob file, one variable after the other. Throws IoError;
/// throws FormatError if the file is too short.
[[nodiscard]] std::string read_map_bytes(const File& file, const formats::Blobs& blobs,
                                         const formats::Header& file_header);

/// Reads maps one at a time from all blob files. `files` and `paths` are the master and the blob files;
/// `dataset` has the content of their headers. The returned function throws IoError, and FormatError for an
/// invalid map. Keeps a reference to `system` only.
[[nodiscard]] formats::MapLoader map_loader(FileSystem& system, const formats::BlobHeader& dataset,
                                            const std::vector<formats::FileDescription>& files,
                                            const std::vector<std::string>& paths);

/// The limit for maps that are kept in memory for reading.
inline constexpr std::size_t most_map_bytes = std::size_t{256} << 20;

/// Adds the maps of blob file `file` from the bytes of read_map_bytes. Throws FormatError.
void take_map_bytes(formats::BlobHeader& dataset, int file, const formats::Header& file_header,
                    const std::string& bytes, const std::string& path);

}  // namespace sluice::storage
