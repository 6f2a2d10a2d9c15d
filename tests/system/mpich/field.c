/* field.so, as an extension of Python that uses PnetCDF: its functions write and read a block of numbers from
 * each process of a communicator. Each returns a status of PnetCDF, or 1 for a wrong number. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stddef.h>

static double number(MPI_Offset i) {
  return (double)i / 4;
}

/* Starts MPI where nobody has; returns the communicator of all processes. */
MPI_Fint field_start(void) {
  int is_started = 0;
  MPI_Initialized(&is_started);
  if (!is_started) MPI_Init(NULL, NULL);
  return MPI_Comm_c2f(MPI_COMM_WORLD);
}

void field_end(void) {
  MPI_Finalize();
}

int field_size(MPI_Fint comm) {
  int size = 0;
  MPI_Comm_size(MPI_Comm_f2c(comm), &size);
  return size;
}

int field_write(MPI_Fint comm, const char* name, int per_process) {
  int rank, ncid, dimension, variable, size = field_size(comm);
  double numbers[1024];
  MPI_Comm_rank(MPI_Comm_f2c(comm), &rank);
  const MPI_Offset start = (MPI_Offset)rank * per_process, count = per_process;
  for (int i = 0; i < per_process; ++i) numbers[i] = number(start + i);
  int status = ncmpi_create(MPI_Comm_f2c(comm), name, NC_CLOBBER, MPI_INFO_NULL, &ncid);
  if (status != NC_NOERR) return status;
  ncmpi_def_dim(ncid, "x", (MPI_Offset)size * per_process, &dimension);
  ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimension, &variable);
  ncmpi_enddef(ncid);
  status = ncmpi_put_vara_double_all(ncid, variable, &start, &count, numbers);
  const int closed = ncmpi_close(ncid);
  return status != NC_NOERR ? status : closed;
}

int field_read(MPI_Fint comm, const char* name, int count) {
  int ncid;
  double numbers[1024];
  int status = ncmpi_open(MPI_Comm_f2c(comm), name, NC_NOWRITE, MPI_INFO_NULL, &ncid);
  if (status != NC_NOERR) return status;
  status = ncmpi_get_var_double_all(ncid, 0, numbers);
  for (int i = 0; i < count && status == NC_NOERR; ++i) status = numbers[i] != number(i);
  const int closed = ncmpi_close(ncid);
  return status != NC_NOERR ? status : closed;
}
