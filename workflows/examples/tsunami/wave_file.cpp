#include "wave_file.hpp"

#include <array>
#include <cstdio>
#include <regex>
#include <stdexcept>

#include "netcdf_file.hpp"

namespace tsunami {

namespace {

constexpr const char* time_units = "seconds since 2011-03-11 05:46:24";

struct WaveVariables {
  int time, latitude, longitude, sea_level, eastward, northward;
};

WaveVariables define_wave_file(NetcdfFile& file, const Grid& grid) {
  const int time = file.define_dimension("time", NC_UNLIMITED);
  const int latitude = file.define_dimension("latitude", grid.rows());
  const int longitude = file.define_dimension("longitude", grid.columns());
  const auto axis = [&](const char* name, int dimension, const char* standard_name, const char* units,
                        const char* letter) {
    const int id = file.define_variable(name, NC_DOUBLE, {dimension});
    file.attribute(id, "standard_name", standard_name);
    file.attribute(id, "units", units);
    file.attribute(id, "axis", letter);
    return id;
  };
  const auto quantity = [&](const char* name, const char* standard_name, const char* units) {
    const int id = file.define_variable(name, NC_FLOAT, {time, latitude, longitude});
    const float fill = NC_FILL_FLOAT;
    file.attribute(id, "standard_name", standard_name);
    file.attribute(id, "units", units);
    file.check(ncmpi_put_att_float(file.id(), id, "_FillValue", NC_FLOAT, 1, &fill),
               "cannot write attribute _FillValue");
    return id;
  };
  const WaveVariables ids{axis("time", time, "time", time_units, "T"),
                          axis("latitude", latitude, "latitude", "degrees_north", "Y"),
                          axis("longitude", longitude, "longitude", "degrees_east", "X"),
                          quantity("sea_level", "sea_surface_height_above_mean_sea_level", "m"),
                          quantity("eastward_velocity", "barotropic_eastward_sea_water_velocity", "m s-1"),
                          quantity("northward_velocity", "barotropic_northward_sea_water_velocity", "m s-1")};
  file.attribute(NC_GLOBAL, "Conventions", "CF-1.8");
  file.attribute(NC_GLOBAL, "title", "Linear shallow-water tsunami");
  file.end_definitions();
  return ids;
}

/// Writes the axes: the ranks at the western and southern edge write their parts, and all others take part
/// without data.
void write_axes(const NetcdfFile& file, const WaveVariables& ids, const ParallelGrid& grid, double time_s) {
  const auto put = [&](int id, MPI_Offset start, MPI_Offset count, const double* values) {
    file.check(ncmpi_put_vara_double_all(file.id(), id, &start, &count, values), "cannot write an axis");
  };
  put(ids.time, 0, grid.rank() == 0 ? 1 : 0, &time_s);
  put(ids.latitude, grid.first_row(), grid.first_column() == 0 ? grid.rows() : 0,
      grid.grid().latitude.data() + grid.first_row());
  put(ids.longitude, grid.first_column(), grid.first_row() == 0 ? grid.columns() : 0,
      grid.grid().longitude.data() + grid.first_column());
}

template <typename Value>
std::vector<float> packed(const ShallowWater& model, const Value& value) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(model.grid().rows()) *
                 static_cast<std::size_t>(model.grid().columns()));
  for (int j = 1; j <= model.grid().rows(); ++j)
    for (int i = 1; i <= model.grid().columns(); ++i)
      values.push_back(model.is_wet(j, i) ? static_cast<float>(value(j, i)) : NC_FILL_FLOAT);
  return values;
}

}  // namespace

std::string numbered_path(const std::string& pattern, int number) {
  static const std::regex one_number("[^%]*%(0[1-9])?d[^%]*");
  if (!std::regex_match(pattern, one_number))
    throw std::invalid_argument("'" + pattern +
                                "' must hold one number as %d or %0Nd, for example wave_%04d.nc");
  const int length = std::snprintf(nullptr, 0, pattern.c_str(), number);
  std::string path(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(path.data(), path.size(), pattern.c_str(), number);
  path.pop_back();
  return path;
}

void write_wave_file(const std::string& path, const ShallowWater& model, double time_s) {
  const ParallelGrid& grid = model.grid();
  auto file = NetcdfFile::create(grid.comm(), path);
  const auto ids = define_wave_file(file, grid.grid());
  write_axes(file, ids, grid, time_s);

  const std::array<MPI_Offset, 3> start{0, grid.first_row(), grid.first_column()};
  const std::array<MPI_Offset, 3> count{1, grid.rows(), grid.columns()};
  const auto sea_level = packed(model, [&](int j, int i) { return model.sea_level(j, i); });
  const auto eastward = packed(model, [&](int j, int i) { return model.eastward(j, i); });
  const auto northward = packed(model, [&](int j, int i) { return model.northward(j, i); });
  std::array<int, 3> requests{}, statuses{};
  const auto post = [&](int id, const std::vector<float>& values, int& request) {
    file.check(ncmpi_iput_vara_float(file.id(), id, start.data(), count.data(), values.data(), &request),
               "cannot write");
  };
  post(ids.sea_level, sea_level, requests[0]);
  post(ids.eastward, eastward, requests[1]);
  post(ids.northward, northward, requests[2]);
  file.check(ncmpi_wait_all(file.id(), 3, requests.data(), statuses.data()), "cannot write");
  for (const int status : statuses) file.check(status, "cannot write");
  file.close();
}

WaveBand read_wave_band(MPI_Comm comm, const std::string& path) {
  auto file = NetcdfFile::open(comm, path);
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  WaveBand band;
  band.latitude = file.read_axis("latitude");
  band.longitude = file.read_axis("longitude");
  band.time_s = file.read_axis("time").at(0);
  const auto all_rows = static_cast<long long>(band.latitude.size());
  band.first_row = static_cast<int>(all_rows * rank / size);
  band.rows = static_cast<int>(all_rows * (rank + 1) / size) - band.first_row;

  const std::array<MPI_Offset, 3> start{0, band.first_row, 0};
  const std::array<MPI_Offset, 3> count{1, band.rows, static_cast<MPI_Offset>(band.longitude.size())};
  const auto read = [&](const char* name, std::vector<float>& values) {
    values.resize(static_cast<std::size_t>(count[1] * count[2]));
    file.check(
        ncmpi_get_vara_float_all(file.id(), file.variable(name), start.data(), count.data(), values.data()),
        std::string("cannot read ") + name);
  };
  read("sea_level", band.sea_level);
  read("eastward_velocity", band.eastward);
  read("northward_velocity", band.northward);
  file.close();
  return band;
}

}  // namespace tsunami
