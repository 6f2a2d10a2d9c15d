/* create_from_cdl CDL NETCDF: makes the file that a CDL header describes, with cdl_hdr_* and ncmpi_* only. */
#include <pnetcdf.h>
#include <stdio.h>

static int mistakes = 0;

#define MUST(call) must(call, #call)
static void must(int status, const char* call) {
  if (status == NC_NOERR) return;
  ++mistakes;
  printf("%s: %s (%s)\n", call, ncmpi_strerrno(status), sluice_last_error());
}

static void copy_attributes(int hid, int ncid, int varid) {
  int count = 0;
  MUST(cdl_hdr_inq_nattrs(hid, varid, &count));
  for (int i = 0; i < count; ++i) {
    char* name;
    nc_type type;
    MPI_Offset length;
    void* values;
    MUST(cdl_hdr_inq_attr(hid, varid, i, &name, &type, &length, &values));
    MUST(ncmpi_put_att(ncid, varid, name, type, length, values));
  }
}

static void copy_definitions(int hid, int ncid) {
  int dimensions = 0, variables = 0;
  MUST(cdl_hdr_inq_ndims(hid, &dimensions));
  for (int i = 0; i < dimensions; ++i) {
    char* name;
    MPI_Offset length;
    int id;
    MUST(cdl_hdr_inq_dim(hid, i, &name, &length));
    MUST(ncmpi_def_dim(ncid, name, length, &id));
  }
  MUST(cdl_hdr_inq_nvars(hid, &variables));
  for (int i = 0; i < variables; ++i) {
    char* name;
    nc_type type;
    int rank, id;
    int* dimids;
    MUST(cdl_hdr_inq_var(hid, i, &name, &type, &rank, &dimids));
    MUST(ncmpi_def_var(ncid, name, type, rank, dimids, &id));
    copy_attributes(hid, ncid, i);
  }
  copy_attributes(hid, ncid, NC_GLOBAL);
}

int main(int argc, char** argv) {
  int hid, ncid, format = 0;
  MPI_Init(&argc, &argv);
  if (argc != 3) return 2;
  MUST(cdl_hdr_open(argv[1], &hid));
  if (mistakes > 0) return 1;
  MUST(cdl_hdr_inq_format(hid, &format));
  const int mode = format == 5 ? NC_64BIT_DATA : format == 2 ? NC_64BIT_OFFSET : 0;
  MUST(ncmpi_create(MPI_COMM_WORLD, argv[2], NC_CLOBBER | mode, MPI_INFO_NULL, &ncid));
  copy_definitions(hid, ncid);
  MUST(cdl_hdr_close(hid));
  if (cdl_hdr_inq_ndims(hid, NULL) != NC_EBADID) ++mistakes;
  MUST(ncmpi_close(ncid));
  MPI_Finalize();
  return mistakes != 0;
}
