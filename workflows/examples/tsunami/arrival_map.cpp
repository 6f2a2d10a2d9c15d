#include "arrival_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "netcdf_file.hpp"

namespace tsunami {

void ArrivalMap::add(const WaveBand& band) {
  const std::size_t cells = band.sea_level.size();
  if (snapshots_ == 0) {
    shape_ = band;
    arrival_time_.assign(cells, NC_FILL_FLOAT);
    maximum_height_.assign(cells, NC_FILL_FLOAT);
    maximum_speed_.assign(cells, NC_FILL_FLOAT);
  }
  if (band.latitude != shape_.latitude || band.longitude != shape_.longitude)
    throw std::runtime_error(
        "the grid of this snapshot is not that of the first one; keep runs with different grids apart");
  ++snapshots_;
  for (std::size_t k = 0; k < cells; ++k) {
    const float level = band.sea_level[k];
    if (level == NC_FILL_FLOAT) continue;
    const float speed = std::hypot(band.eastward[k], band.northward[k]);
    const bool is_first = maximum_height_[k] == NC_FILL_FLOAT;
    maximum_height_[k] = is_first ? level : std::max(maximum_height_[k], level);
    maximum_speed_[k] = is_first ? speed : std::max(maximum_speed_[k], speed);
    if (arrival_time_[k] == NC_FILL_FLOAT && std::abs(level) >= threshold_m_)
      arrival_time_[k] = static_cast<float>(band.time_s);
    highest_ = std::max(highest_, level);
  }
}

void ArrivalMap::write(MPI_Comm comm, const std::string& path) const {
  auto file = NetcdfFile::create(comm, path);
  const int latitude = file.define_dimension("latitude", static_cast<MPI_Offset>(shape_.latitude.size()));
  const int longitude = file.define_dimension("longitude", static_cast<MPI_Offset>(shape_.longitude.size()));
  const auto define = [&](const char* name, nc_type type, const std::vector<int>& dimensions,
                          const char* long_name, const char* units) {
    const int id = file.define_variable(name, type, dimensions);
    file.attribute(id, "long_name", long_name);
    file.attribute(id, "units", units);
    const float fill = NC_FILL_FLOAT;
    if (type == NC_FLOAT)
      file.check(ncmpi_put_att_float(file.id(), id, "_FillValue", NC_FLOAT, 1, &fill),
                 "cannot write attribute");
    return id;
  };
  const int y = define("latitude", NC_DOUBLE, {latitude}, "latitude", "degrees_north");
  const int x = define("longitude", NC_DOUBLE, {longitude}, "longitude", "degrees_east");
  const int time = define("arrival_time", NC_FLOAT, {latitude, longitude},
                          "time from the earthquake to the arrival of the wave", "s");
  const int height =
      define("maximum_height", NC_FLOAT, {latitude, longitude}, "highest sea level above rest", "m");
  const int speed =
      define("maximum_speed", NC_FLOAT, {latitude, longitude}, "highest speed of the water", "m s-1");
  file.check(ncmpi_put_att_double(file.id(), time, "threshold_m", NC_DOUBLE, 1, &threshold_m_),
             "cannot write attribute");
  file.attribute(NC_GLOBAL, "Conventions", "CF-1.8");
  file.attribute(NC_GLOBAL, "title", "Arrival times and maximum heights of a tsunami");
  file.end_definitions();

  const std::array<MPI_Offset, 2> start{shape_.first_row, 0};
  const std::array<MPI_Offset, 2> count{shape_.rows, static_cast<MPI_Offset>(shape_.longitude.size())};
  file.check(ncmpi_put_vara_double_all(file.id(), y, start.data(), count.data(),
                                       shape_.latitude.data() + shape_.first_row),
             "cannot write");
  const MPI_Offset none = 0, columns = shape_.first_row == 0 && shape_.rows > 0 ? count[1] : 0;
  file.check(ncmpi_put_vara_double_all(file.id(), x, &none, &columns, shape_.longitude.data()),
             "cannot write");
  file.check(ncmpi_put_vara_float_all(file.id(), time, start.data(), count.data(), arrival_time_.data()),
             "cannot write");
  file.check(ncmpi_put_vara_float_all(file.id(), height, start.data(), count.data(), maximum_height_.data()),
             "cannot write");
  file.check(ncmpi_put_vara_float_all(file.id(), speed, start.data(), count.data(), maximum_speed_.data()),
             "cannot write");
  file.close();
}

}  // namespace tsunami
