// A tsunami: linear shallow-water waves over the world's relief, written as a series of netCDF files.
#include <mpi.h>

#include <boost/program_options.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "program.hpp"
#include "relief.hpp"
#include "shallow_water.hpp"
#include "wave_file.hpp"

namespace po = boost::program_options;
using namespace tsunami;

namespace {

struct Options {
  std::string bathymetry;
  double flat_depth_m = 0, resolution_minutes = 20;
  Region region;
  Physics physics;
  double hours = 24, output_minutes = 10;
  std::string output;
};

po::options_description describe(Options& o) {
  po::options_description all("tsunami: a tsunami over the real sea floor, as a series of netCDF files");
  auto add = all.add_options();
  add("help", "this text");
  add("bathymetry", po::value(&o.bathymetry), "netCDF file of the world's relief (for example etopo20.cdf)");
  add("flat-depth", po::value(&o.flat_depth_m), "instead: a flat sea of this depth in m");
  add("resolution-minutes", po::value(&o.resolution_minutes)->default_value(20),
      "grid spacing of the flat sea, arc minutes");
  add("west", po::value(&o.region.west)->default_value(100), "region, degrees east");
  add("east", po::value(&o.region.east)->default_value(300), "region, degrees east");
  add("south", po::value(&o.region.south)->default_value(-72), "region, degrees north");
  add("north", po::value(&o.region.north)->default_value(66), "region, degrees north");
  add("source-longitude", po::value(&o.physics.source_longitude)->default_value(142.9, "142.9"),
      "initial bump, degrees east");
  add("source-latitude", po::value(&o.physics.source_latitude)->default_value(38.1, "38.1"),
      "initial bump, degrees north");
  add("source-height", po::value(&o.physics.source_height_m)->default_value(5), "initial bump, m");
  add("source-radius", po::value(&o.physics.source_radius_km)->default_value(100),
      "initial bump, e-folding radius in km");
  add("minimum-depth", po::value(&o.physics.minimum_depth_m)->default_value(20),
      "shallower water is this deep, m");
  add("no-rotation", po::bool_switch()->notifier([&o](bool off) { o.physics.rotates = !off; }),
      "without Coriolis force");
  add("hours", po::value(&o.hours)->default_value(24), "simulated time");
  add("output-minutes", po::value(&o.output_minutes)->default_value(10), "simulated time between files");
  add("output", po::value(&o.output)->default_value("wave_%04d.nc"),
      "names of the files; %04d is their number");
  return all;
}

void check(const Options& o) {
  const auto require = [](bool holds, const char* text) {
    if (!holds) throw std::invalid_argument(text);
  };
  require(o.bathymetry.empty() != (o.flat_depth_m <= 0),
          "give either --bathymetry FILE or --flat-depth METRES (> 0)");
  require(o.hours > 0 && o.output_minutes > 0, "--hours and --output-minutes must be positive");
  require(o.region.east > o.region.west && o.region.north > o.region.south,
          "the region is empty: --west < --east, --south < --north");
  require(o.region.south > -89 && o.region.north < 89,
          "the region must stay off the poles: --south > -89, --north < 89");
  require(o.physics.source_radius_km > 0 && o.physics.minimum_depth_m > 0 && o.resolution_minutes > 0,
          "--source-radius, --minimum-depth and --resolution-minutes must be positive");
  (void)numbered_path(o.output, 1);
}

void report(const ShallowWater& model, int file, double time_s, double volume_at_start) {
  const double volume = model.volume_m3(), scale = model.absolute_volume_m3();
  if (model.grid().rank() != 0) return;
  const auto minutes = static_cast<int>(std::lround(time_s / 60));
  std::printf("file %4d   %2d h %02d min   volume change %+.1e\n", file, minutes / 60, minutes % 60,
              (volume - volume_at_start) / scale);
  std::fflush(stdout);
}

void run(const Options& options) {
  std::unique_ptr<Relief> relief;
  if (!options.bathymetry.empty()) relief = std::make_unique<Relief>(MPI_COMM_WORLD, options.bathymetry);
  const ParallelGrid grid(
      relief ? relief->grid(options.region) : regular_grid(options.region, options.resolution_minutes / 60),
      MPI_COMM_WORLD);
  ShallowWater model(grid, relief ? relief->depth(grid) : flat_depth(grid, options.flat_depth_m),
                     options.physics);

  const double interval_s = options.output_minutes * 60;
  const auto steps_per_file = static_cast<int>(std::ceil(interval_s / model.stable_step_s()));
  const double dt_s = interval_s / steps_per_file;
  const auto files = static_cast<int>(std::floor(options.hours * 3600 / interval_s + 1e-9)) + 1;
  const double volume_at_start = model.volume_m3();
  if (grid.rank() == 0) {
    std::printf("%d x %d cells, time step %.1f s, %d steps a file, %d files\n", grid.grid().rows(),
                grid.grid().columns(), dt_s, steps_per_file, files);
    if (volume_at_start == 0) std::printf("warning: the initial bump touches no water; nothing will move\n");
  }
  for (int file = 1; file <= files; ++file) {
    for (int step = 0; file > 1 && step < steps_per_file; ++step) model.step(dt_s);
    const double time_s = (file - 1) * interval_s;
    write_wave_file(numbered_path(options.output, file), model, time_s);
    if (file % 12 == 1 || file == files) report(model, file, time_s, volume_at_start);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const Program program{"tsunami", describe(options), {}, [&] {
                          check(options);
                          run(options);
                        }};
  return run_program(program, argc, argv);
}
