/* parallel write|read NAME: netCDF-C's parallel interface over PnetCDF (NC_PNETCDF). Each rank writes, or
   reads and checks, 100 numbers of a record variable with two records. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 100, RECORDS = 2 };

static int rank, ranks;

static void check(int status, const char* call) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, call, nc_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double number(int record, size_t i) {
  return 1000 * record + (double)i / 4;
}

static void write_file(const char* name) {
  int file, dimensions[2], variable;
  double part[PART];
  check(nc_create_par(name, NC_PNETCDF | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "nc_create_par");
  check(nc_def_dim(file, "time", NC_UNLIMITED, &dimensions[0]), "nc_def_dim");
  check(nc_def_dim(file, "x", (size_t)ranks * PART, &dimensions[1]), "nc_def_dim");
  check(nc_def_var(file, "v", NC_DOUBLE, 2, dimensions, &variable), "nc_def_var");
  check(nc_put_att_text(file, variable, "units", 1, "m"), "nc_put_att_text");
  check(nc_enddef(file), "nc_enddef");
  check(nc_var_par_access(file, variable, NC_COLLECTIVE), "nc_var_par_access");
  for (int record = 0; record < RECORDS; ++record) {
    const size_t start[] = {(size_t)record, (size_t)rank * PART}, count[] = {1, PART};
    for (size_t i = 0; i < PART; ++i) part[i] = number(record, start[1] + i);
    check(nc_put_vara_double(file, variable, start, count, part), "nc_put_vara_double");
  }
  check(nc_close(file), "nc_close");
}

static void read_file(const char* name) {
  int file, variable;
  double part[PART];
  size_t records;
  check(nc_open_par(name, NC_PNETCDF | NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "nc_open_par");
  check(nc_inq_varid(file, "v", &variable), "nc_inq_varid");
  check(nc_inq_dimlen(file, 0, &records), "nc_inq_dimlen");
  check(records == RECORDS ? NC_NOERR : NC_EINVAL, "the number of records");
  check(nc_var_par_access(file, variable, NC_COLLECTIVE), "nc_var_par_access");
  for (int record = 0; record < RECORDS; ++record) {
    const size_t start[] = {(size_t)record, (size_t)rank * PART}, count[] = {1, PART};
    check(nc_get_vara_double(file, variable, start, count, part), "nc_get_vara_double");
    for (size_t i = 0; i < PART; ++i)
      check(part[i] == number(record, start[1] + i) ? NC_NOERR : NC_EINVAL, "the numbers");
  }
  check(nc_close(file), "nc_close");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 3) (strcmp(argv[1], "write") == 0 ? write_file : read_file)(argv[2]);
  MPI_Finalize();
  return argc == 3 ? 0 : 2;
}
