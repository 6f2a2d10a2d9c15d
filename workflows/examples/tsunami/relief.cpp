#include "relief.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "netcdf_file.hpp"

namespace tsunami {

namespace {

constexpr int least_points = 3;

struct ReliefVariable {
  std::string name, latitude_axis, longitude_axis;
};

/// The first variable of two dimensions.
ReliefVariable find_relief(const NetcdfFile& file, const std::string& path) {
  int count = 0;
  file.check(ncmpi_inq_nvars(file.id(), &count), "cannot inquire");
  for (int id = 0; id < count; ++id) {
    int dimensions = 0;
    file.check(ncmpi_inq_varndims(file.id(), id, &dimensions), "cannot inquire");
    if (dimensions != 2) continue;
    std::array<char, NC_MAX_NAME + 1> name{}, latitude{}, longitude{};
    std::array<int, 2> dimids{};
    file.check(ncmpi_inq_var(file.id(), id, name.data(), nullptr, nullptr, dimids.data(), nullptr),
               "cannot inquire");
    file.check(ncmpi_inq_dimname(file.id(), dimids[0], latitude.data()), "cannot inquire");
    file.check(ncmpi_inq_dimname(file.id(), dimids[1], longitude.data()), "cannot inquire");
    return {name.data(), latitude.data(), longitude.data()};
  }
  throw std::runtime_error(path +
                           ": no variable of two dimensions (latitude, longitude) that could be the relief");
}

void require_points(int rows, int columns) {
  if (rows < least_points || columns < least_points)
    throw std::invalid_argument(
        "the region holds " + std::to_string(rows) + " x " + std::to_string(columns) +
        " grid points; at least 3 x 3 are needed: check --west, --east, --south, --north");
}

}  // namespace

Relief::Relief(MPI_Comm comm, const std::string& path) : path_(path) {
  auto file = NetcdfFile::open(comm, path);
  const auto found = find_relief(file, path);
  variable_ = found.name;
  latitude_ = file.read_axis(found.latitude_axis);
  longitude_ = file.read_axis(found.longitude_axis);
  file.close();
  const double spacing =
      (longitude_.back() - longitude_.front()) / static_cast<double>(longitude_.size() - 1);
  const auto turn = static_cast<std::size_t>(std::lround(360 / spacing));
  if (longitude_.size() > turn) longitude_.resize(turn);
}

Grid Relief::grid(const Region& region) const {
  const double spacing =
      (longitude_.back() - longitude_.front()) / static_cast<double>(longitude_.size() - 1);
  Grid grid;
  for (const double y : latitude_)
    if (y >= region.south && y <= region.north) grid.latitude.push_back(y);
  const bool goes_round = region.east - region.west >= 360 - spacing / 2;
  const auto first = static_cast<long>(std::ceil((region.west - longitude_.front()) / spacing - 1e-6));
  for (long i = first; grid.longitude.size() < longitude_.size(); ++i) {
    const double x = longitude_.front() + static_cast<double>(i) * spacing;
    if (!goes_round && x > region.east + 1e-6) break;
    grid.longitude.push_back(x);
  }
  grid.is_periodic =
      goes_round && std::abs(spacing * static_cast<double>(longitude_.size()) - 360) < spacing / 2;
  require_points(grid.rows(), grid.columns());
  return grid;
}

Field Relief::depth(const ParallelGrid& parallel) const {
  const Grid& grid = parallel.grid();
  const auto turn = static_cast<long>(longitude_.size());
  const double spacing = (longitude_.back() - longitude_.front()) / static_cast<double>(turn - 1);
  const long west = std::lround((grid.longitude.front() - longitude_.front()) / spacing);
  const auto south =
      std::lower_bound(latitude_.begin(), latitude_.end(), grid.latitude.front()) - latitude_.begin();

  // This rank's rows and columns, with one more on each side inside the grid. Columns wrap round the world in
  // the file, so there are at most two runs of columns.
  const int row_begin = std::max(0, parallel.first_row() - 1);
  const int row_end = std::min(grid.rows(), parallel.first_row() + parallel.rows() + 1);
  int column_begin = parallel.first_column() - 1,
      column_end = parallel.first_column() + parallel.columns() + 1;
  if (!grid.is_periodic)
    column_begin = std::max(0, column_begin), column_end = std::min(grid.columns(), column_end);

  auto file = NetcdfFile::open(parallel.comm(), path_);
  const int variable = file.variable(variable_);
  Field depth = parallel.field();
  std::vector<float> band;
  for (int column = column_begin, part = 0; part < 3;
       ++part) {  // a fixed number of collective reads, some of them empty
    const long in_file = ((west + column) % turn + turn) % turn;
    const auto count = std::min<long>(turn - in_file, std::max(0, column_end - column));
    const std::array<MPI_Offset, 2> start{south + row_begin, count > 0 ? in_file : 0};
    const std::array<MPI_Offset, 2> extent{count > 0 ? row_end - row_begin : 0, count};
    band.resize(static_cast<std::size_t>(extent[0] * extent[1]));
    file.check(ncmpi_get_vara_float_all(file.id(), variable, start.data(), extent.data(), band.data()),
               "cannot read the relief");
    for (int j = 0; j < extent[0]; ++j)
      for (int i = 0; i < count; ++i)
        depth(row_begin + j - parallel.first_row() + 1, column + i - parallel.first_column() + 1) =
            std::max(0.0, -static_cast<double>(band[static_cast<std::size_t>(j * count + i)]));
    column += static_cast<int>(count);
  }
  file.close();
  return depth;
}

Field flat_depth(const ParallelGrid& parallel, double depth_m) {
  Field depth = parallel.field();
  const Grid& grid = parallel.grid();
  for (int j = 0; j <= parallel.rows() + 1; ++j)
    for (int i = 0; i <= parallel.columns() + 1; ++i) {
      const int row = parallel.first_row() + j - 1, column = parallel.first_column() + i - 1;
      const bool inside =
          row >= 0 && row < grid.rows() && (grid.is_periodic || (column >= 0 && column < grid.columns()));
      depth(j, i) = inside ? depth_m : 0;
    }
  return depth;
}

Grid regular_grid(const Region& region, double spacing_degrees) {
  Grid grid;
  const auto columns = static_cast<int>(std::lround((region.east - region.west) / spacing_degrees));
  const auto rows = static_cast<int>(std::lround((region.north - region.south) / spacing_degrees));
  for (int i = 0; i < columns; ++i) grid.longitude.push_back(region.west + (i + 0.5) * spacing_degrees);
  for (int j = 0; j < rows; ++j) grid.latitude.push_back(region.south + (j + 0.5) * spacing_degrees);
  require_points(rows, columns);
  return grid;
}

}  // namespace tsunami
