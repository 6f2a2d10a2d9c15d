#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "sluice/formats/blob_placement.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// The bytes of all decomposition maps in a blob file, one variable after the other. Throws IoError;
/// FormatError where the file is too short for them.
[[nodiscard]] std::string read_map_bytes(const File& file, const formats::Blobs& blobs,
                                         const formats::Header& file_header);

/// Reads maps one at a time, from all blob files: `files` and `paths` are those of the master and the blob
/// files, `dataset` is what their headers say. The function throws IoError; FormatError where a map makes no
/// sense. Refers to `system` only.
[[nodiscard]] formats::MapLoader map_loader(FileSystem& system, const formats::BlobHeader& dataset,
                                            const std::vector<formats::FileDescription>& files,
                                            const std::vector<std::string>& paths);

/// Of maps that are kept in memory for reading.
inline constexpr std::size_t most_map_bytes = std::size_t{256} << 20;

/// Takes the maps of blob file `file` from what read_map_bytes gave. Throws FormatError.
void take_map_bytes(formats::BlobHeader& dataset, int file, const formats::Header& file_header,
                    const std::string& bytes, const std::string& path);

}  // namespace sluice::storage
