// Writes a variable whose columns are distributed, so that a file that is divided among them has pieces of a
// given length: the input that bench/storage merges. Arguments: FILE, KiB of a piece, pieces in a row, total
// MiB.
#include <cstdlib>
#include <numeric>

#include "file_case.hpp"

namespace {

using namespace sluice::bench;

struct Shape {
  MPI_Offset rows = 0;
  MPI_Offset columns = 0;
};

int define(int file, const Shape& shape) {
  int dimids[2];
  int varid = 0;
  check(ncmpi_def_dim(file, "row", shape.rows, &dimids[0]), "row");
  check(ncmpi_def_dim(file, "column", shape.columns, &dimids[1]), "column");
  check(ncmpi_def_var(file, "v", NC_DOUBLE, 2, dimids, &varid), "v");
  check(ncmpi_put_att_int(file, varid, "_PnetCDF_SubFiling.par_dim_id", NC_INT, 1, &dimids[1]), "division");
  return varid;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_process);
  MPI_Comm_size(MPI_COMM_WORLD, &process_count);
  Shape shape;
  shape.columns = std::atoll(argv[2]) * 128 * std::atoll(argv[3]);
  shape.rows = std::atoll(argv[4]) * (1 << 17) / shape.columns;
  int file = 0;
  check(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
  const int varid = define(file, shape);
  check(ncmpi_enddef(file), "enddef");
  const MPI_Offset first = shape.columns * rank_of_process / process_count;
  const MPI_Offset behind = shape.columns * (rank_of_process + 1) / process_count;
  const MPI_Offset start[2] = {0, first};
  const MPI_Offset count[2] = {shape.rows, behind - first};
  std::vector<double> values(static_cast<std::size_t>(shape.rows * (behind - first)));
  std::iota(values.begin(), values.end(), static_cast<double>(rank_of_process));
  check(ncmpi_put_vara_double_all(file, varid, start, count, values.data()), "put");
  check(ncmpi_close(file), "close");
  MPI_Finalize();
  return 0;
}
