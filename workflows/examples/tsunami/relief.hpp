#pragma once
#include <mpi.h>

#include <string>

#include "parallel_grid.hpp"

namespace tsunami {

/// A box in degrees; east may exceed 360.
struct Region {
  double west = 0, east = 360, south = -90, north = 90;
};

/// The world's relief in a netCDF file: a variable with two dimensions (latitude, longitude) in metres,
/// negative below the sea, and its two axes. The model's cells are the points of the file.
class Relief {
 public:
  /// Collective. Throws FileError, or std::runtime_error if the file has no relief variable.
  Relief(MPI_Comm comm, const std::string& path);

  /// The grid of the points in `region`; periodic if the region spans the whole circle of longitude. Throws
  /// std::invalid_argument if the region has fewer than 3 × 3 points.
  [[nodiscard]] Grid grid(const Region& region) const;

  /// Water depth in metres of this rank's block and its halo: 0 on land and outside a closed grid. Collective
  /// over grid.comm().
  [[nodiscard]] Field depth(const ParallelGrid& grid) const;

 private:
  std::string path_;
  std::string variable_;
  std::vector<double> longitude_;  ///< one turn; a repeated last column is omitted
  std::vector<double> latitude_;
};

/// A flat sea floor between closed walls.
[[nodiscard]] Field flat_depth(const ParallelGrid& grid, double depth_m);

/// A regular grid with the given spacing for `region`, for the flat sea.
[[nodiscard]] Grid regular_grid(const Region& region, double spacing_degrees);

}  // namespace tsunami
