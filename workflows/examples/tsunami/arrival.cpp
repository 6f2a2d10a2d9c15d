// Reads a series of tsunami snapshots; each rank reads a band of rows. Computes arrival times, maximum
// heights and maximum speeds.
#include <mpi.h>

#include <boost/program_options.hpp>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "arrival_map.hpp"
#include "netcdf_file.hpp"
#include "program.hpp"
#include "wave_file.hpp"

namespace po = boost::program_options;
using namespace tsunami;

namespace {

struct Options {
  std::string input, output;
  double threshold_m = 0.005;
};

/// Reads the next snapshot; returns nothing after the last one.
std::optional<WaveBand> next_band(const std::string& path) {
  try {
    return read_wave_band(MPI_COMM_WORLD, path);
  } catch (const FileError& e) {
    if (e.status() == NC_ENOENT) return std::nullopt;
    throw;
  }
}

void report(int rank, const ArrivalMap& map, const std::string& path, double time_s) {
  float highest = map.highest();
  MPI_Allreduce(MPI_IN_PLACE, &highest, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  if (rank != 0) return;
  const auto minutes = static_cast<int>(std::lround(time_s / 60));
  std::printf("%s   %2d h %02d min   highest so far %.2f m\n", path.c_str(), minutes / 60, minutes % 60,
              highest);
  std::fflush(stdout);
}

void run(const Options& options) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ArrivalMap map(options.threshold_m);
  double last_time_s = 0;
  for (int number = 1;; ++number) {
    const auto path = numbered_path(options.input, number);
    const auto band = next_band(path);
    if (!band) break;
    map.add(*band);
    last_time_s = band->time_s;
    if (number % 12 == 1) report(rank, map, path, last_time_s);
  }
  if (map.snapshots() == 0)
    throw std::runtime_error("there is no " + numbered_path(options.input, 1) +
                             "; run the model first, or both under 'sluice run'");
  report(rank, map, "end of " + std::to_string(map.snapshots()) + " files", last_time_s);
  map.write(MPI_COMM_WORLD, options.output);
  if (rank == 0) std::printf("wrote %s\n", options.output.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  po::options_description description("arrival: arrival times and maximum heights of a tsunami");
  auto add = description.add_options();
  add("help", "this text");
  add("input", po::value(&options.input)->default_value("wave_%04d.nc"),
      "names of the snapshots, from number 1 on");
  add("output", po::value(&options.output)->default_value("arrival.nc"), "file to write");
  add("threshold", po::value(&options.threshold_m)->default_value(0.005, "0.005"),
      "sea level that counts as arrived, m");
  po::positional_options_description positional;
  positional.add("input", 1).add("output", 1);
  const Program program{"arrival", description, positional, [&] {
                          if (options.threshold_m <= 0)
                            throw std::invalid_argument("--threshold must be positive");
                          (void)numbered_path(options.input, 1);
                          run(options);
                        }};
  return run_program(program, argc, argv);
}
