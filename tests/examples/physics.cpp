#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "relief.hpp"
#include "shallow_water.hpp"

using namespace tsunami;

namespace {

constexpr double flat_depth_m = 4000;
const double expected_speed = std::sqrt(9.81 * flat_depth_m);  // m/s

/// A flat sea of 60 × 40 degrees at the equator, with a bump in its middle.
Physics bump_in_the_middle() {
  Physics physics;
  physics.source_longitude = 30, physics.source_latitude = 0;
  physics.source_height_m = 1, physics.source_radius_km = 150;
  physics.rotates = false;
  return physics;
}

const Region flat_region{0, 60, -20, 20};

/// The time in s of the highest sea level at a place, on whichever rank owns it, during `hours` of the model.
double time_of_crest_s(ShallowWater& model, double longitude, double hours) {
  const auto& grid = model.grid();
  const auto column = static_cast<int>(std::floor(longitude / grid.grid().spacing_longitude()));
  const int row = grid.grid().rows() / 2;
  const int i = column - grid.first_column() + 1, j = row - grid.first_row() + 1;
  const bool mine = i >= 1 && i <= grid.columns() && j >= 1 && j <= grid.rows();
  const double dt = model.stable_step_s();
  double highest = -1, when = 0;
  for (int step = 1; step * dt < hours * 3600; ++step) {
    model.step(dt);
    if (mine && model.sea_level(j, i) > highest) highest = model.sea_level(j, i), when = step * dt;
  }
  MPI_Allreduce(MPI_IN_PLACE, &when, 1, MPI_DOUBLE, MPI_MAX, grid.comm());
  return when;
}

}  // namespace

TEST_CASE("over a flat bottom the wave travels at the square root of g h") {
  const ParallelGrid grid(regular_grid(flat_region, 0.25), MPI_COMM_WORLD);
  double crest[2];
  const double places[2] = {40.125, 52.125};
  for (int k = 0; k < 2; ++k) {
    ShallowWater model(grid, flat_depth(grid, flat_depth_m), bump_in_the_middle());
    crest[k] = time_of_crest_s(model, places[k], 4.2);
  }
  const double metres = (places[1] - places[0]) * std::numbers::pi / 180 * 6371000;
  const double speed = metres / (crest[1] - crest[0]);
  CAPTURE(speed);
  CAPTURE(expected_speed);
  CHECK(std::abs(speed / expected_speed - 1) < 0.03);
}

TEST_CASE("the volume of water is conserved to rounding, with coasts, rotation and closed edges") {
  const Relief relief(MPI_COMM_WORLD, SLUICE_ETOPO60);
  const ParallelGrid grid(relief.grid({100, 300, -72, 66}), MPI_COMM_WORLD);
  Physics physics;
  physics.source_radius_km = 300;
  ShallowWater model(grid, relief.depth(grid), physics);
  const double before = model.volume_m3();
  REQUIRE(before > 0);
  const double dt = model.stable_step_s();
  for (int step = 0; step < 500; ++step) model.step(dt);
  CHECK(std::abs(model.volume_m3() - before) < 1e-12 * before);
  CHECK(model.absolute_volume_m3() > 1.5 * before);  // the wave has moved
}

TEST_CASE("results do not depend on the decomposition, to the last bit") {
  const Relief relief(MPI_COMM_WORLD, SLUICE_ETOPO60);
  const auto box = relief.grid({0, 360, -60, 60});
  CHECK(box.is_periodic);
  const ParallelGrid divided(box, MPI_COMM_WORLD), whole(box, MPI_COMM_SELF);
  Physics physics;
  physics.source_radius_km = 300;
  ShallowWater a(divided, relief.depth(divided), physics), b(whole, relief.depth(whole), physics);
  for (int step = 0; step < 100; ++step) {
    a.step(60);
    b.step(60);
  }
  long long different = 0;
  for (int j = 1; j <= divided.rows(); ++j)
    for (int i = 1; i <= divided.columns(); ++i) {
      const int row = j + divided.first_row(), column = i + divided.first_column();
      different +=
          a.sea_level(j, i) != b.sea_level(row, column) || a.eastward(j, i) != b.eastward(row, column);
    }
  CHECK(different == 0);
}

TEST_CASE("relief is read right across the place where the file's longitudes begin and end") {
  const Relief relief(MPI_COMM_WORLD, SLUICE_ETOPO60);
  const ParallelGrid whole(relief.grid({20, 380, -60, 60}), MPI_COMM_SELF),
      across(relief.grid({10, 30, -60, 60}), MPI_COMM_SELF);
  const Field all = relief.depth(whole), part = relief.depth(across);
  CHECK(across.grid().longitude.front() == doctest::Approx(10.5));
  // In the file, longitude 20.5 is column 0 and longitude 10.5 is column 350.
  for (int j = 1; j <= across.rows(); ++j)
    for (int i = 1; i <= across.columns(); ++i) {
      const int file_column = i <= 10 ? 350 + i - 1 : i - 11;
      REQUIRE(part(j, i) == all(j, file_column + 1));
    }
  CHECK(part(1, 0) == 0);  // a closed edge
}
