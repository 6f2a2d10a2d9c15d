// An ordinary PnetCDF program: writes an array in bands of rows, one file per step.
#include <mpi.h>
#include <pnetcdf.h>

#include "step_block.hpp"

using namespace sluice::bench;

namespace {

void write_step(const StepOptions& options, const Block& block, const std::vector<double>& data, int step) {
  int ncid = -1;
  int dimensions[2] = {-1, -1};
  int varid = -1;
  require(ncmpi_create(MPI_COMM_WORLD, options.step_path(step).c_str(), NC_CLOBBER | NC_64BIT_DATA,
                       MPI_INFO_NULL, &ncid),
          "create");
  require(ncmpi_def_dim(ncid, "y", options.rows, &dimensions[0]), "def_dim");
  require(ncmpi_def_dim(ncid, "x", options.columns, &dimensions[1]), "def_dim");
  require(ncmpi_def_var(ncid, "field", NC_DOUBLE, 2, dimensions, &varid), "def_var");
  require(ncmpi_put_att_int(ncid, NC_GLOBAL, "step", NC_INT, 1, &step), "put_att");
  require(ncmpi_enddef(ncid), "enddef");
  const MPI_Offset start[2] = {block.first_row, block.first_column};
  const MPI_Offset count[2] = {block.rows, block.columns};
  require(ncmpi_put_vara_double_all(ncid, varid, start, count, data.data()), "put_vara");
  require(ncmpi_close(ncid), "close");
}

/// Returns when the reader has acknowledged the step.
void await_acknowledgement(const StepOptions& options, int step) {
  int ncid = -1;
  require(ncmpi_open(MPI_COMM_WORLD, options.acknowledgement_path(step).c_str(), NC_NOWRITE, MPI_INFO_NULL,
                     &ncid),
          "open of acknowledgement");
  require(ncmpi_close(ncid), "close of acknowledgement");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const StepOptions options = StepOptions::parse(argc, argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Block block = band_of_rows(options.rows, options.columns, rank, size);
  std::vector<double> data(static_cast<std::size_t>(block.elements()));
  std::vector<StepTime> times;
  for (int step = 0; step < options.steps; ++step) {
    fill(data, block, options.columns, step, step == 0);
    if (step == 0) await_ready(options);
    if (options.acknowledge && step > 0) await_acknowledgement(options, step - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const std::int64_t begin = now_ns();
    write_step(options, block, data, step);
    times.push_back({begin, now_ns()});
  }
  if (options.acknowledge) await_acknowledgement(options, options.steps - 1);
  write_times(options.times, times);
  MPI_Finalize();
  return 0;
}
