#pragma once
#include <string>

#include "sluice/formats/blobs.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// The bytes of all decomposition maps in a blob file, one variable after the other. Throws IoError;
/// FormatError where the file is too short for them.
[[nodiscard]] std::string read_map_bytes(const File& file, const formats::Blobs& blobs,
                                         const formats::Header& file_header);

/// Takes the maps of blob file `file` from what read_map_bytes gave. Throws FormatError.
void take_map_bytes(formats::BlobHeader& dataset, int file, const formats::Header& file_header,
                    const std::string& bytes, const std::string& path);

}  // namespace sluice::storage
