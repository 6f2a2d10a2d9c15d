// An ordinary PnetCDF program: reads the files of step_writer in bands of columns and checks the data.
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>

#include "step_block.hpp"

using namespace sluice::bench;

namespace {

/// Returns the step number in the file.
int read_step(const StepOptions& options, const Block& block, std::vector<double>& data, int step) {
  int ncid = -1;
  int varid = -1;
  int number = -1;
  require(ncmpi_open(MPI_COMM_WORLD, options.step_path(step).c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid),
          "open");
  require(ncmpi_inq_varid(ncid, "field", &varid), "inq_varid");
  require(ncmpi_get_att_int(ncid, NC_GLOBAL, "step", &number), "get_att");
  const MPI_Offset start[2] = {block.first_row, block.first_column};
  const MPI_Offset count[2] = {block.rows, block.columns};
  require(ncmpi_get_vara_double_all(ncid, varid, start, count, data.data()), "get_vara");
  require(ncmpi_close(ncid), "close");
  return number;
}

void acknowledge(const StepOptions& options, int step) {
  int ncid = -1;
  require(ncmpi_create(MPI_COMM_WORLD, options.acknowledgement_path(step).c_str(), NC_CLOBBER, MPI_INFO_NULL,
                       &ncid),
          "create of acknowledgement");
  require(ncmpi_enddef(ncid), "enddef of acknowledgement");
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
  const Block block = band_of_columns(options.rows, options.columns, rank, size);
  std::vector<double> data(static_cast<std::size_t>(block.elements()));
  std::vector<StepTime> times;
  std::int64_t wrong = 0;
  tell_ready(options);
  for (int step = 0; step < options.steps; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    const std::int64_t begin = now_ns();
    const int number = read_step(options, block, data, step);
    times.push_back({begin, now_ns()});
    wrong += count_wrong(data, block, options.columns, number, step == 0);
    wrong += options.acknowledge && number != step ? 1 : 0;
    if (options.acknowledge) acknowledge(options, step);
  }
  write_times(options.times, times);
  if (wrong > 0) {
    std::fprintf(stderr, "step_reader, rank %d: %lld elements are wrong\n", rank,
                 static_cast<long long>(wrong));
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  return 0;
}
