#pragma once
#include <cstdint>
#include <string>

#include "sluice/formats/header.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Makes an empty file a netCDF file of this header, which has been laid out, and of so many records (its
/// header says 0): all elements are fill values. Room for all of it is taken first. Throws IoError.
void create_filled_file(File& file, const formats::Header& header, std::int64_t records);

/// Fills the records [first, end) of a file that has this header. Throws IoError.
void fill_records(File& file, const formats::Header& header, std::int64_t first, std::int64_t end);

}  // namespace sluice::storage
