/* Writes the files of this folder with PnetCDF 1.12.3, configured with --enable-subfiling:
 * mpicc make_files.c -lpnetcdf && mpirun -n 3 ./a.out */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

static void check(int status) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s\n", ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void define(int ncid, int* grid, int* line) {
  int y, x, two, id;
  check(ncmpi_def_dim(ncid, "y", 10, &y));
  check(ncmpi_def_dim(ncid, "x", 7, &x));
  check(ncmpi_def_dim(ncid, "two", 2, &two));
  const int dims[2] = {y, x};
  check(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 4, "what"));
  check(ncmpi_def_var(ncid, "grid", NC_INT, 2, dims, grid));
  check(ncmpi_put_att_text(ncid, *grid, "units", 2, "mm"));
  check(ncmpi_def_var(ncid, "pair", NC_SHORT, 1, &two, &id));
  check(ncmpi_def_var(ncid, "scalar", NC_DOUBLE, 0, NULL, &id));
  check(ncmpi_def_var(ncid, "line", NC_DOUBLE, 1, &x, line));
  check(ncmpi_def_var(ncid, "across", NC_CHAR, 2, dims, &id));
  check(ncmpi_put_att_int(ncid, id, "_PnetCDF_SubFiling.par_dim_id", NC_INT, 1, &x));
}

static void write_file(const char* path, int mode, MPI_Info info) {
  int ncid, grid, line;
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | mode, info, &ncid));
  define(ncid, &grid, &line);
  check(ncmpi_enddef(ncid));
  int values[70];
  for (int i = 0; i < 70; ++i) values[i] = i;
  /* All ranks write the same values. */
  const MPI_Offset start[2] = {0, 0}, count[2] = {10, 7};
  check(ncmpi_put_vara_int_all(ncid, grid, start, count, values));
  const MPI_Offset width = 7;
  check(ncmpi_put_vara_int_all(ncid, line, start, &width, values));
  check(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "nc_num_subfiles", "3");
  MPI_Info_set(info, "pnetcdf_subfiling", "enable");
  write_file("ok_cdf1.nc", 0, info);
  write_file("ok_cdf5.nc", NC_64BIT_DATA, info);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
