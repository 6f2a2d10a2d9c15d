#pragma once
#include <string>
#include <vector>

#include "shallow_water.hpp"

namespace tsunami {

/// "wave_%04d.nc" and 7 → "wave_0007.nc". Throws std::invalid_argument if the pattern is not plain text with
/// one "%d" or "%0Nd".
[[nodiscard]] std::string numbered_path(const std::string& pattern, int number);

/// Writes one snapshot in CF conventions: sea_level, eastward_velocity, northward_velocity (time, latitude,
/// longitude; float; land has the fill value). The three variables are nonblocking requests of one collective
/// wait. Collective over the model's grid.
void write_wave_file(const std::string& path, const ShallowWater& model, double time_s);

/// The band of rows [first_row, first_row + rows) of one wave file.
struct WaveBand {
  double time_s = 0;
  std::vector<double> latitude, longitude;  ///< the whole axes
  int first_row = 0, rows = 0;
  std::vector<float> sea_level, eastward, northward;  ///< rows × columns; land has NC_FILL_FLOAT
};

/// Reads this rank's band (rows divided evenly over `comm`). Collective. Throws FileError: status NC_ENOENT
/// if the file does not exist.
[[nodiscard]] WaveBand read_wave_band(MPI_Comm comm, const std::string& path);

}  // namespace tsunami
