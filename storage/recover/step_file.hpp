#pragma once
#include <cstdint>
#include <string>

#include "sluice/formats/header.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Turns an empty file into a netCDF file with this header, which has a layout, and with that many records
/// (its header says 0). All elements are fill values. First reserves space for the whole file. Throws
/// IoError.
void create_filled_file(File& file, const formats::Header& header, std::int64_t records);

/// Fills records [first, end) of a file with this header. Throws IoError.
void fill_records(File& file, const formats::Header& header, std::int64_t first, std::int64_t end);

}  // namespace sluice::storage
