/* raw: three files, raw0.w to raw2.w, that all ranks write, and read, by MPI-IO. */
#include <mpi.h>
#include <stdio.h>

enum { steps = 3, count = 10000 };

static MPI_File open_file(const char* name, int mode) {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
    fprintf(stderr, "%s cannot be opened\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return file;
}

int main(int argc, char** argv) {
  static double values[count];
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const MPI_Offset offset = rank * (MPI_Offset)sizeof values;
  for (int step = 0; step < steps; ++step) {
    char name[16];
    snprintf(name, sizeof name, "raw%d.w", step);
    for (int i = 0; i < count; ++i) values[i] = rank + step + i;
    MPI_File file = open_file(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_set_size(file, 0);
    MPI_File_write_at_all(file, offset, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    values[5] = 0;
    file = open_file(name, MPI_MODE_RDONLY);
    MPI_File_read_at_all(file, offset, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (values[5] != rank + step + 5) {
      fprintf(stderr, "%s has other values\n", name);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return 0;
}
