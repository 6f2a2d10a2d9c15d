#pragma once
#include <cstdint>
#include <string>

#include "step_file.hpp"

namespace sluice::coordinator {

/// The dimensions, numeric variables and attributes of the file as JSON.
[[nodiscard]] std::string describe_file(const StepFile& file);

/// A slice of a variable, for the page: a head in JSON, and values with missing ones as NaN, scaled as their
/// attributes say (CF: scale_factor, add_offset, _FillValue, missing_value, valid_range). `at` has an entry
/// for each dimension: an index, "last", or "*" for the one or two dimensions that are shown, of which each
/// n-th value is taken so that at most about 1000 remain. Bytes: the length of the head in 4 bytes, the head,
/// blanks up to a multiple of 8; then the values in row-major order, as float32 for a map, and as float64 for
/// a line or a single value. All numbers are little-endian. Throws Error.
[[nodiscard]] std::string field_of(const StepFile& file, const std::string& variable, const std::string& at);

}  // namespace sluice::coordinator
