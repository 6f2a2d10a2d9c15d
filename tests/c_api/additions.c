/* Additions of PnetCDF 1.13 to 1.15: NC_COUNT_IGNORE, the header's size in define mode, statuses. */
#include <string.h>

#include "checks.h"

static void check_statuses(void) {
  EXPECT(NC_EFSTYPE == -241 && strcmp(ncmpi_strerrno(-241), "NC_EFSTYPE") == 0);
  EXPECT(NC_EDRIVER == -242 && strcmp(ncmpi_strerrno(-242), "NC_EDRIVER") == 0);
  EXPECT(NC_EFILEVIEW == -243 && strcmp(ncmpi_strerrno(-243), "NC_EFILEVIEW") == 0);
  EXPECT(NC_EMULTIDEFINE_HINTS == -274 && strcmp(ncmpi_strerrno(-274), "NC_EMULTIDEFINE_HINTS") == 0);
  EXPECT(strcmp(NC_FillValue, _FillValue) == 0);
  EXPECT(NC_EMULTIDEFINE_LAST == NC_EMULTIDEFINE_HINTS);
  EXPECT(strcmp(ncmpi_strerror(-242), "Invalid PnetCDF I/O driver.") == 0);
}

/* The buffer for the four elements of each access, and a check of them. */
static int values[4];
static const int* fresh(int first) {
  for (int i = 0; i < 4; ++i) values[i] = first + i;
  return values;
}
static int is_fresh(const int* read, int first) {
  for (int i = 0; i < 4; ++i) {
    if (read[i] != first + i) return 0;
  }
  return 1;
}

static void check_blocking(int ncid, int varid) {
  const MPI_Offset start[1] = {0}, count[1] = {4}, stride[1] = {1}, map[1] = {1};
  MPI_Offset first[1] = {0}, all[1] = {4};
  MPI_Offset *starts[1] = {first}, *counts[1] = {all};
  int read[4] = {0};
  const MPI_Offset ignored = NC_COUNT_IGNORE;
  MUST(ncmpi_put_var_all(ncid, varid, fresh(1), ignored, MPI_INT));
  MUST(ncmpi_get_var_all(ncid, varid, read, ignored, MPI_INT));
  EXPECT(is_fresh(read, 1));
  MUST(ncmpi_put_vara_all(ncid, varid, start, count, fresh(2), ignored, MPI_INT));
  MUST(ncmpi_get_vara_all(ncid, varid, start, count, read, ignored, MPI_INT));
  EXPECT(is_fresh(read, 2));
  MUST(ncmpi_put_vars_all(ncid, varid, start, count, stride, fresh(3), ignored, MPI_INT));
  MUST(ncmpi_get_vars_all(ncid, varid, start, count, stride, read, ignored, MPI_INT));
  EXPECT(is_fresh(read, 3));
  MUST(ncmpi_put_varm_all(ncid, varid, start, count, stride, map, fresh(4), ignored, MPI_INT));
  MUST(ncmpi_get_varm_all(ncid, varid, start, count, stride, map, read, ignored, MPI_INT));
  EXPECT(is_fresh(read, 4));
  MUST(ncmpi_put_varn_all(ncid, varid, 1, starts, counts, fresh(5), ignored, MPI_INT));
  MUST(ncmpi_get_varn_all(ncid, varid, 1, starts, counts, read, ignored, MPI_INT));
  EXPECT(is_fresh(read, 5));
  MUST(ncmpi_put_var1_all(ncid, varid, start, fresh(6), ignored, MPI_INT));
  MUST(ncmpi_get_var1_all(ncid, varid, start, read, ignored, MPI_INT));
  EXPECT(read[0] == 6);
}

static void check_nonblocking(int ncid, int varid) {
  const MPI_Offset start[1] = {0}, count[1] = {4};
  MPI_Offset first[1] = {0}, all[1] = {4};
  MPI_Offset *starts[1] = {first}, *counts[1] = {all};
  int read[4] = {0};
  MUST(ncmpi_iput_vara(ncid, varid, start, count, fresh(10), NC_COUNT_IGNORE, MPI_INT, NULL));
  MUST(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  MUST(ncmpi_iget_vara(ncid, varid, start, count, read, NC_COUNT_IGNORE, MPI_INT, NULL));
  MUST(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  EXPECT(is_fresh(read, 10));
  MUST(ncmpi_buffer_attach(ncid, 64));
  MUST(ncmpi_bput_varn(ncid, varid, 1, starts, counts, fresh(20), NC_COUNT_IGNORE, MPI_INT, NULL));
  MUST(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  MUST(ncmpi_buffer_detach(ncid));
  MUST(ncmpi_iget_varn(ncid, varid, 1, starts, counts, read, NC_COUNT_IGNORE, MPI_INT, NULL));
  MUST(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  EXPECT(is_fresh(read, 20));
}

static void check_datatypes(int ncid, int varid) {
  MPI_Datatype four;
  int read[4] = {0};
  MPI_Type_contiguous(4, MPI_INT, &four);
  MPI_Type_commit(&four);
  MUST(ncmpi_put_vard_all(ncid, varid, four, fresh(30), NC_COUNT_IGNORE, MPI_INT));
  MUST(ncmpi_get_vard_all(ncid, varid, four, read, NC_COUNT_IGNORE, MPI_INT));
  EXPECT(is_fresh(read, 30));
  EXPECT(ncmpi_put_var_all(ncid, varid, fresh(0), NC_COUNT_IGNORE, four) != NC_NOERR);
  MPI_Type_free(&four);
}

/* In define mode the size is that of the definitions. The extent is the file's until enddef. */
static void check_redefinition(int ncid) {
  MPI_Offset before = 0, extent_before = 0, size = 0, extent = 0;
  char text[1000] = "";
  MUST(ncmpi_inq_header_size(ncid, &before));
  MUST(ncmpi_inq_header_extent(ncid, &extent_before));
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_inq_header_size(ncid, &size));
  EXPECT(size == before);
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "text", sizeof text, text));
  MUST(ncmpi_inq_header_size(ncid, &size));
  EXPECT(size == before + 4 + 4 + 4 + 4 + 1000); /* its name, type and length before the values */
  MUST(ncmpi_inq_header_extent(ncid, &extent));
  EXPECT(extent == extent_before);
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_inq_header_size(ncid, &before));
  EXPECT(size == before);
  MUST(ncmpi_inq_header_extent(ncid, &extent));
  EXPECT(extent > extent_before && extent >= size);
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_del_att(ncid, NC_GLOBAL, "text"));
  MUST(ncmpi_inq_header_size(ncid, &before));
  EXPECT(before < size);
  MUST(ncmpi_enddef(ncid));
}

static int def_dim_status(int format, MPI_Offset length) {
  int ncid, dimid, varid;
  MUST(ncmpi_create(MPI_COMM_WORLD, "additions_limits.nc", NC_CLOBBER | format, MPI_INFO_NULL, &ncid));
  const int status = ncmpi_def_dim(ncid, "x", length, &dimid);
  if (status == NC_NOERR) {
    MPI_Offset read = 0;
    MUST(ncmpi_def_var(ncid, "v", NC_BYTE, 1, &dimid, &varid));
    MUST(ncmpi_close(ncid));
    MUST(ncmpi_open(MPI_COMM_WORLD, "additions_limits.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
    MUST(ncmpi_inq_dimlen(ncid, 0, &read));
    EXPECT(read == length);
  }
  MUST(ncmpi_close(ncid));
  return status;
}

/* The longest that 1.15 allows. */
static void check_dimensions(void) {
  EXPECT(def_dim_status(0, 2147483647LL) == NC_NOERR);
  EXPECT(def_dim_status(0, 2147483648LL) == NC_EDIMSIZE);
  EXPECT(def_dim_status(NC_64BIT_OFFSET, 2147483647LL) == NC_NOERR);
  EXPECT(def_dim_status(NC_64BIT_OFFSET, 2147483648LL) == NC_EDIMSIZE);
  EXPECT(def_dim_status(NC_64BIT_DATA, 4294967296LL) == NC_NOERR);
}

int main(int argc, char** argv) {
  int ncid, dimid, varid;
  MPI_Offset empty = 0, defined = 0, written = 0;
  MPI_Init(&argc, &argv);
  check_statuses();
  check_dimensions();
  MUST(ncmpi_create(MPI_COMM_WORLD, "additions.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_header_size(ncid, &empty));
  MUST(ncmpi_def_dim(ncid, "x", 4, &dimid));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &dimid, &varid));
  MUST(ncmpi_inq_header_size(ncid, &defined));
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_inq_header_size(ncid, &written));
  EXPECT(empty > 0 && empty < defined && defined == written);
  check_redefinition(ncid);
  check_blocking(ncid, varid);
  check_nonblocking(ncid, varid);
  check_datatypes(ncid, varid);
  MUST(ncmpi_close(ncid));
  MPI_Finalize();
  return mistakes != 0;
}
