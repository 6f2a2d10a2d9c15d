#include "shallow_water.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tsunami {

namespace {

constexpr double earth_radius_m = 6371000;
constexpr double gravity = 9.81;               // m s-2
constexpr double angular_velocity = 7.292e-5;  // s-1
constexpr double degree = std::numbers::pi / 180;
constexpr double stability_margin = 0.7;

/// Kahan's compensated summation.
class Sum {
 public:
  void add(double value) {
    const double corrected = value - lost_;
    const double next = total_ + corrected;
    lost_ = (next - total_) - corrected;
    total_ = next;
  }
  [[nodiscard]] double total() const { return total_; }

 private:
  double total_ = 0, lost_ = 0;
};

/// Great-circle distance in metres.
double distance_m(double longitude_a, double latitude_a, double longitude_b, double latitude_b) {
  const double half_dy = std::sin((latitude_b - latitude_a) * degree / 2);
  const double half_dx = std::sin((longitude_b - longitude_a) * degree / 2);
  const double h =
      half_dy * half_dy + std::cos(latitude_a * degree) * std::cos(latitude_b * degree) * half_dx * half_dx;
  return 2 * earth_radius_m * std::asin(std::min(1.0, std::sqrt(h)));
}

}  // namespace

ShallowWater::ShallowWater(const ParallelGrid& grid, const Field& depth, const Physics& physics)
    : grid_(grid),
      depth_(depth),
      depth_east_(grid.field()),
      depth_north_(grid.field()),
      sea_level_(grid.field()),
      eastward_(grid.field()),
      northward_(grid.field()),
      rotates_(physics.rotates) {
  for (int j = 0; j <= grid_.rows() + 1; ++j)
    for (int i = 0; i <= grid_.columns() + 1; ++i)
      if (depth_(j, i) > 0) depth_(j, i) = std::max(depth_(j, i), physics.minimum_depth_m);
  set_face_depths();
  set_source(physics);
}

void ShallowWater::set_face_depths() {
  const auto between = [](double a, double b) { return a > 0 && b > 0 ? 0.5 * (a + b) : 0.0; };
  for (int j = 0; j <= grid_.rows() + 1; ++j)
    for (int i = 0; i <= grid_.columns(); ++i) depth_east_(j, i) = between(depth_(j, i), depth_(j, i + 1));
  for (int j = 0; j <= grid_.rows(); ++j)
    for (int i = 0; i <= grid_.columns() + 1; ++i)
      depth_north_(j, i) = between(depth_(j, i), depth_(j + 1, i));
}

void ShallowWater::set_source(const Physics& physics) {
  for (int j = 1; j <= grid_.rows(); ++j)
    for (int i = 1; i <= grid_.columns(); ++i) {
      if (!is_wet(j, i)) continue;
      const double longitude = grid_.grid().longitude[static_cast<std::size_t>(grid_.first_column() + i - 1)];
      const double distance_km =
          distance_m(physics.source_longitude, physics.source_latitude, longitude, grid_.latitude(j)) / 1000;
      const double r = distance_km / physics.source_radius_km;
      sea_level_(j, i) = r < 4 ? physics.source_height_m * std::exp(-r * r) : 0;
    }
}

double ShallowWater::coriolis(double latitude_degrees) const {
  return rotates_ ? 2 * angular_velocity * std::sin(latitude_degrees * degree) : 0;
}

double ShallowWater::stable_step_s() const {
  const double dy = earth_radius_m * grid_.grid().spacing_latitude() * degree;
  double fastest = 0;  // 1/s
  for (int j = 1; j <= grid_.rows(); ++j) {
    const double dx =
        earth_radius_m * std::cos(grid_.latitude(j) * degree) * grid_.grid().spacing_longitude() * degree;
    for (int i = 1; i <= grid_.columns(); ++i)
      fastest = std::max(fastest, std::sqrt(gravity * depth_(j, i) * (1 / (dx * dx) + 1 / (dy * dy))));
  }
  MPI_Allreduce(MPI_IN_PLACE, &fastest, 1, MPI_DOUBLE, MPI_MAX, grid_.comm());
  return stability_margin / std::max(fastest, 1e-9);
}

void ShallowWater::step(double dt_s) {
  grid_.exchange(sea_level_);
  advance_eastward(dt_s);
  grid_.exchange(eastward_);
  advance_northward(dt_s);
  grid_.exchange(northward_);
  advance_sea_level(dt_s);
}

void ShallowWater::advance_eastward(double dt_s) {
  const double spacing = grid_.grid().spacing_longitude() * degree;
  for (int j = 1; j <= grid_.rows(); ++j) {
    const double slope = gravity / (earth_radius_m * std::cos(grid_.latitude(j) * degree) * spacing);
    const double f = coriolis(grid_.latitude(j)) / 4;
    for (int i = 1; i <= grid_.columns(); ++i) {
      if (depth_east_(j, i) <= 0) continue;
      const double northward =
          northward_(j, i) + northward_(j, i + 1) + northward_(j - 1, i) + northward_(j - 1, i + 1);
      eastward_(j, i) += dt_s * (f * northward - slope * (sea_level_(j, i + 1) - sea_level_(j, i)));
    }
  }
}

void ShallowWater::advance_northward(double dt_s) {
  const double slope = gravity / (earth_radius_m * grid_.grid().spacing_latitude() * degree);
  for (int j = 1; j <= grid_.rows(); ++j) {
    const double f = coriolis(grid_.latitude(j) + grid_.grid().spacing_latitude() / 2) / 4;
    for (int i = 1; i <= grid_.columns(); ++i) {
      if (depth_north_(j, i) <= 0) continue;
      const double eastward =
          eastward_(j, i) + eastward_(j, i - 1) + eastward_(j + 1, i) + eastward_(j + 1, i - 1);
      northward_(j, i) += dt_s * (-f * eastward - slope * (sea_level_(j + 1, i) - sea_level_(j, i)));
    }
  }
}

void ShallowWater::advance_sea_level(double dt_s) {
  const double dx = grid_.grid().spacing_longitude() * degree, dy = grid_.grid().spacing_latitude() * degree;
  for (int j = 1; j <= grid_.rows(); ++j) {
    const double cos_here = std::cos(grid_.latitude(j) * degree);
    const double cos_north = std::cos((grid_.latitude(j) + grid_.grid().spacing_latitude() / 2) * degree);
    const double cos_south = std::cos((grid_.latitude(j) - grid_.grid().spacing_latitude() / 2) * degree);
    const double factor = dt_s / (earth_radius_m * cos_here);
    for (int i = 1; i <= grid_.columns(); ++i) {
      if (!is_wet(j, i)) continue;
      const double out_east =
          depth_east_(j, i) * eastward_(j, i) - depth_east_(j, i - 1) * eastward_(j, i - 1);
      const double out_north = depth_north_(j, i) * northward_(j, i) * cos_north -
                               depth_north_(j - 1, i) * northward_(j - 1, i) * cos_south;
      sea_level_(j, i) -= factor * (out_east / dx + out_north / dy);
    }
  }
}

namespace {

/// Sum of value(j, i) * area over the whole grid, in m³ for values in metres.
template <typename Value>
double integrate(const ParallelGrid& grid, const Value& value) {
  const double dx = grid.grid().spacing_longitude() * degree, dy = grid.grid().spacing_latitude() * degree;
  Sum sum;
  for (int j = 1; j <= grid.rows(); ++j) {
    const double area = earth_radius_m * earth_radius_m * std::cos(grid.latitude(j) * degree) * dx * dy;
    for (int i = 1; i <= grid.columns(); ++i) sum.add(value(j, i) * area);
  }
  double total = sum.total();
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_SUM, grid.comm());
  return total;
}

}  // namespace

double ShallowWater::volume_m3() const {
  return integrate(grid_, [this](int j, int i) { return sea_level_(j, i); });
}

double ShallowWater::absolute_volume_m3() const {
  return integrate(grid_, [this](int j, int i) { return std::abs(sea_level_(j, i)); });
}

}  // namespace tsunami
