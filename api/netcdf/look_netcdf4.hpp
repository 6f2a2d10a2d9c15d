#pragma once
#include <string>

namespace sluice::api::netcdf {

/// Prints a header of CDF-5 with the dimensions, the numeric variables and the attributes of the file that is
/// open at this descriptor, for `sluice serve`. Names have those of their groups in front; what has no values
/// is left out. Throws Error.
void describe_netcdf4(int descriptor);

/// Prints values of a variable as doubles of this machine. The lists are numbers with commas between, one for
/// each dimension. Throws Error.
void print_values(int descriptor, const std::string& variable, const std::string& start,
                  const std::string& count, const std::string& stride);

}  // namespace sluice::api::netcdf
