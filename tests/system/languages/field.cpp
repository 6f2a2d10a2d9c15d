// field_cpp writer|reader PATH: the same file as in field.f90, through PnetCDF's C++ classes.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <pnetcdf>
#include <vector>

using namespace PnetCDF;
using namespace PnetCDF::exceptions;

namespace {

constexpr MPI_Offset nx = 60, ny = 24;

void write(const char* path, int rank, int ranks) {
  NcmpiFile file(MPI_COMM_WORLD, path, NcmpiFile::replace, NcmpiFile::classic5);
  const std::vector<NcmpiDim> dims{file.addDim("y", ny), file.addDim("x", nx)};
  NcmpiVar field = file.addVar("field", ncmpiDouble, dims);
  field.putAtt("units", "kelvin");
  file.enddef();
  const MPI_Offset first = ny * rank / ranks, rows = ny * (rank + 1) / ranks - first;
  std::vector<double> values;
  for (MPI_Offset j = 0; j < rows; ++j)
    for (MPI_Offset i = 0; i < nx; ++i) values.push_back(static_cast<double>(1000 * (first + j + 1) + i + 1));
  field.putVar_all({first, 0}, {rows, nx}, values.data());
}

int read(const char* path, int rank, int ranks) {
  const NcmpiFile file(MPI_COMM_WORLD, path, NcmpiFile::read);
  const NcmpiVar field = file.getVar("field");
  const MPI_Offset first = nx * rank / ranks, columns = nx * (rank + 1) / ranks - first;
  std::vector<int> values(static_cast<std::size_t>(ny * columns));
  field.getVar_all({0, first}, {ny, columns}, values.data());
  int wrong = 0;
  for (MPI_Offset j = 0; j < ny; ++j)
    for (MPI_Offset i = 0; i < columns; ++i)
      wrong += values[static_cast<std::size_t>(j * columns + i)] != 1000 * (j + 1) + first + i + 1;
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    if (argc != 3) return 2;
    if (std::strcmp(argv[1], "writer") == 0) {
      write(argv[2], rank, ranks);
    } else if (const int wrong = read(argv[2], rank, ranks); wrong > 0) {
      std::fprintf(stderr, "rank %d: %d wrong values\n", rank, wrong);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  } catch (const NcmpiException& e) {
    std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
