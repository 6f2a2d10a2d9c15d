/* netcdf_statuses write|read: what netCDF says of unusual and wrong calls, in each format: prints statuses
 * and values. */
#include <netcdf.h>
#include <netcdf_meta.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { formats = 5, values = 9 };
static const int modes[formats] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA, NC_NETCDF4,
                                   NC_NETCDF4 | NC_CLASSIC_MODEL};
static const char* what;

static int say(int status) {
  printf("%s %d\n", what, status);
  return status;
}

#define SAY(call) (what = #call, say(call))

/* Fill values of variables with and without data. */
static void late_fills(int mode, const char* path) {
  int file, dim, a, b, c;
  const int fill = -5, fills[2] = {1, 2};
  const short wrong = 3;
  SAY(nc_create(path, mode, &file));
  SAY(nc_def_dim(file, "x", 4, &dim));
  SAY(nc_def_var(file, "a", NC_INT, 1, &dim, &a));
  SAY(nc_def_var(file, "b", NC_INT, 1, &dim, &b));
  SAY(nc_def_var(file, "c", NC_INT, 0, NULL, &c));
  if ((mode & NC_NETCDF4) == 0 || (mode & NC_CLASSIC_MODEL) != 0) SAY(nc_enddef(file));
  SAY(nc_put_var_int(file, a, (int[]){1, 2, 3, 4}));
  if ((mode & NC_NETCDF4) == 0 || (mode & NC_CLASSIC_MODEL) != 0) SAY(nc_redef(file));
  SAY(nc_put_att_int(file, b, "_FillValue", NC_INT, 2, fills));
  SAY(nc_put_att_short(file, b, "_FillValue", NC_SHORT, 1, &wrong));
  if ((mode & NC_NETCDF4) != 0) SAY(nc_put_att_int(file, a, "_FillValue", NC_INT, 2, fills));
  SAY(nc_put_att_int(file, a, "_FillValue", NC_INT, 1, &fill));
  SAY(nc_def_var_fill(file, b, NC_FILL, &fill));
  SAY(nc_put_att_int(file, a, "other", NC_INT, 1, &fill));
  SAY(nc_enddef(file));
  SAY(nc_enddef(file));
  SAY(nc_put_var_int(file, b, (int[]){5, 6, 7, 8}));
  SAY(nc_close(file));
}

static const double numbers[values] = {1.5, -1, 200, 300, -70000, 3e9, 1e20, -1e20, 1e300};
static const long long integers[values] = {1,          -1,        200,          300,      -70000,
                                           3000000000, 1LL << 40, -(1LL << 50), 1LL << 62};

/* Values that the types of the variables do not have. */
static void ranges(int mode, const char* path) {
  static const nc_type types[] = {NC_BYTE, NC_SHORT, NC_INT, NC_FLOAT, NC_UBYTE, NC_USHORT, NC_UINT};
  const int kinds = (mode & NC_NETCDF4) != 0 && (mode & NC_CLASSIC_MODEL) == 0 ? 7
                    : mode == NC_64BIT_DATA                                    ? 7
                                                                               : 4;
  int file, dim, id;
  const unsigned char bytes[values] = {0, 1, 127, 128, 129, 200, 254, 255, 3};
  SAY(nc_create(path, mode, &file));
  SAY(nc_def_dim(file, "x", values, &dim));
  for (int i = 0; i < 3 * kinds; ++i) {
    char name[16];
    snprintf(name, sizeof name, "v%d", i);
    SAY(nc_def_var(file, name, types[i / 3], 1, &dim, &id));
  }
  SAY(nc_enddef(file));
  for (int i = 0; i < kinds; ++i) {
    SAY(nc_put_var_double(file, 3 * i, numbers));
    SAY(nc_put_var_longlong(file, 3 * i + 1, integers));
    SAY(nc_put_var_uchar(file, 3 * i + 2, bytes));
  }
  SAY(nc_close(file));
}

static void read_ranges(const char* path) {
  int file, variables = 0;
  SAY(nc_open(path, NC_NOWRITE, &file));
  SAY(nc_inq_nvars(file, &variables));
  for (int id = 0; id < variables; ++id) {
    double own[values];
    unsigned char bytes[values] = {0};
    short shorts[values] = {0};
    nc_type type;
    SAY(nc_inq_vartype(file, id, &type));
    SAY(nc_get_var_double(file, id, own));
    /* netCDF leaves memory as it was, where a classic variable of this type has a value that no integer has.
     */
    if (type == NC_FLOAT) {
      for (int i = 0; i < values; ++i) printf(" %g\n", own[i]);
      continue;
    }
    SAY(nc_get_var_uchar(file, id, bytes));
    SAY(nc_get_var_short(file, id, shorts));
    for (int i = 0; i < values; ++i) printf(" %g,%d,%d", own[i], bytes[i], shorts[i]);
    printf("\n");
  }
  SAY(nc_close(file));
}

/* Which formats there are, and which one is made by default. */
static void default_formats(void) {
  int file, before, format;
  SAY(nc_create("mixed.nc", NC_64BIT_OFFSET | NC_CDF5, &file));
  SAY(nc_create("mixed.nc", NC_64BIT_OFFSET | NC_NETCDF4, &file));
  SAY(nc_create("mixed.nc", NC_CDF5 | NC_NETCDF4, &file));
  static const int of_files[] = {NC_FORMAT_CLASSIC, NC_FORMAT_64BIT_OFFSET, NC_FORMAT_CDF5, NC_FORMAT_NETCDF4,
                                 NC_FORMAT_NETCDF4_CLASSIC};
  for (int i = 0; i < 5; ++i) {
    char name[24];
    snprintf(name, sizeof name, "default%d.nc", i);
    SAY(nc_set_default_format(of_files[i], &before));
    SAY(nc_create(name, NC_CLOBBER, &file));
    SAY(nc_inq_format(file, &format));
    printf("%d\n", format);
    SAY(nc_close(file));
  }
  SAY(nc_set_default_format(NC_FORMAT_CLASSIC, &before));
}

/* Closes and ends of definitions that fail, and are made again. */
static void failures(void) {
  int file, type, dims[3];
  const unsigned char value = 42;
  SAY(nc_create("enum.nc", NC_NETCDF4, &file));
  SAY(nc_def_enum(file, NC_UBYTE, "e", &type));
  SAY(nc_close(file));
  SAY(nc_redef(file));
  SAY(nc_insert_enum(file, type, "name", &value));
  SAY(nc_close(file));
  SAY(nc_close(file));
  SAY(nc_create("header.nc", NC_CLOBBER, &file));
  SAY(nc_set_fill(file, NC_NOFILL, NULL));
  SAY(nc_def_dim(file, "x", 5, &dims[0]));
  SAY(nc_def_dim(file, "y", 320, &dims[1]));
  SAY(nc_def_var(file, "v", NC_INT, 1, dims, NULL));
  SAY(nc_def_var(file, "w", NC_INT, 2, dims, NULL));
  SAY(nc__enddef(file, 2147483648UL, 1, 1, 1));
  SAY(nc_put_var_int(file, 0, (int[]){1, 2, 3, 4, 5}));
  SAY(nc_def_dim(file, "z", 3, &dims[2]));
  SAY(nc_close(file));
}

/* Variables that no memory holds, and names that are not in normal form. */
static void huge_and_renamed(void) {
  int file, dims[3], id;
  SAY(nc_create("huge.nc", NC_NETCDF4, &file));
  SAY(nc_def_dim(file, "x", 1804289383, &dims[0]));
  SAY(nc_def_dim(file, "y", 846930886, &dims[1]));
  SAY(nc_def_dim(file, "z", 1681692777, &dims[2]));
  SAY(nc_def_var(file, "v", NC_FLOAT, 3, dims, &id));
  SAY(nc_def_var_chunking(file, id, NC_CHUNKED, NULL));
  SAY(nc_def_var(file, "s", NC_INT, 0, NULL, &id));
  SAY(nc_put_var_int(file, id, (int[]){7}));
  SAY(nc_close(file));
  SAY(nc_create("renamed.nc", NC_NETCDF4, &file));
  SAY(nc_def_var(file, "boring", NC_INT, 0, NULL, &id));
  SAY(nc_rename_var(file, id, "e\xcc\x81t\xc3\xa9")); /* e and an accent, t, é */
  SAY(nc_put_var_int(file, id, (int[]){8}));
  SAY(nc_close(file));
}

enum { bytes_of_chunk = 64, alignment = 4096, mark = 0xab };

static void write_aligned(void) {
#if NC_VERSION_MAJOR > 4 || NC_VERSION_MINOR >= 9
  int file, dim, id;
  const size_t length = bytes_of_chunk;
  unsigned char marks[bytes_of_chunk];
  memset(marks, mark, sizeof marks);
  SAY(nc_set_alignment(10, alignment));
  SAY(nc_create("aligned.nc", NC_NETCDF4, &file));
  SAY(nc_def_dim(file, "x", length, &dim));
  SAY(nc_def_var(file, "v", NC_UBYTE, 1, &dim, &id));
  SAY(nc_def_var_chunking(file, id, NC_CHUNKED, &length));
  SAY(nc_put_var_uchar(file, id, marks));
  SAY(nc_close(file));
  SAY(nc_set_alignment(1, 1));
#endif
}

/* Where the chunk is in the file. */
static void read_aligned(void) {
  static unsigned char bytes[1 << 20], marks[bytes_of_chunk];
  memset(marks, mark, sizeof marks);
  FILE* const file = fopen("aligned.nc", "r");
  const size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
  for (size_t i = 0; i + sizeof marks <= size; ++i)
    if (memcmp(bytes + i, marks, sizeof marks) == 0)
      printf("a chunk at %zu of %d\n", i % alignment, alignment);
  if (file != NULL) fclose(file);
}

static void read_file(const char* path) {
  int file, format, variables = 0;
  printf("%s\n", path);
  if (SAY(nc_open(path, NC_NOWRITE, &file)) != NC_NOERR) return;
  SAY(nc_inq_format(file, &format));
  SAY(nc_inq_nvars(file, &variables));
  printf("%d %d\n", format, variables);
  for (int id = 0; id < variables; ++id) {
    char name[NC_MAX_NAME + 1];
    int dimensions = 0, fill = 0, number = 0;
    SAY(nc_inq_var(file, id, name, NULL, &dimensions, NULL, NULL));
    SAY(nc_get_att_int(file, id, "_FillValue", &fill));
    if (dimensions == 0) SAY(nc_get_var_int(file, id, &number));
    printf("%s %d %d\n", name, fill, number);
  }
  SAY(nc_close(file));
}

int main(int argc, char** argv) {
  const int writes = argc > 1 && strcmp(argv[1], "write") == 0;
  char path[24];
  if (writes) default_formats(), failures(), huge_and_renamed(), write_aligned();
  for (int i = 0; i < formats; ++i) {
    snprintf(path, sizeof path, "late%d.nc", i);
    writes ? late_fills(modes[i], path) : read_file(path);
    snprintf(path, sizeof path, "range%d.nc", i);
    writes ? ranges(modes[i], path) : read_ranges(path);
    snprintf(path, sizeof path, "default%d.nc", i);
    if (!writes) read_file(path);
  }
  if (!writes)
    read_file("enum.nc"), read_file("header.nc"), read_file("huge.nc"), read_file("renamed.nc"),
        read_aligned();
  return 0;
}
