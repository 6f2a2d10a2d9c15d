/* Built with the installed tree alone. Writes one value and reads it back. */
#include <pnetcdf.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int ncid, id, value = 42, back = 0, wrong = 0;
  MPI_Init(&argc, &argv);
  wrong += ncmpi_create(MPI_COMM_WORLD, "consumer.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid) != NC_NOERR;
  wrong += ncmpi_def_var(ncid, "v", NC_INT, 0, NULL, &id) != NC_NOERR;
  wrong += ncmpi_enddef(ncid) != NC_NOERR;
  wrong += ncmpi_put_var_int_all(ncid, id, &value) != NC_NOERR;
  wrong += ncmpi_get_var_int_all(ncid, id, &back) != NC_NOERR;
  wrong += ncmpi_close(ncid) != NC_NOERR;
  if (wrong != 0 || back != value) printf("%d calls failed; read %d\n", wrong, back);
  printf("%s\n", ncmpi_inq_libvers());
  MPI_Finalize();
  return wrong != 0 || back != value;
}
