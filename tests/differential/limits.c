/* Sizes at the limits of the formats and beyond: which calls refuse them, and where variables are placed.
 * No data is written. */
#include "report.h"

typedef struct {
  nc_type type;
  MPI_Offset length; /* of the only dimension, or 0 for one record of the second */
  MPI_Offset inner;
} Shape;

static void one(int cmode, const char* what, int count, const Shape* shapes, int fill_record_first) {
  int ncid, id, dims[2], t = -1;
  show("---- format 0x%x: %s", (unsigned)cmode, what);
  MUST(ncmpi_create(MPI_COMM_WORLD, "limits.nc", cmode | NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  if (fill_record_first) MUST(ncmpi_def_var(ncid, "first", NC_INT, 1, &t, &id));
  for (int i = 0; i < count; ++i) {
    char name[20];
    int rank = 0;
    if (shapes[i].length == 0) {
      dims[rank++] = t;
    } else {
      snprintf(name, sizeof name, "d%d", i);
      if (TRY(ncmpi_def_dim(ncid, name, shapes[i].length, &dims[rank])) != NC_NOERR) continue;
      ++rank;
    }
    if (shapes[i].inner) {
      snprintf(name, sizeof name, "e%d", i);
      if (TRY(ncmpi_def_dim(ncid, name, shapes[i].inner, &dims[rank])) != NC_NOERR) continue;
      ++rank;
    }
    snprintf(name, sizeof name, "v%d", i);
    TRY(ncmpi_def_var(ncid, name, shapes[i].type, rank, dims, &id));
  }
  if (TRY(ncmpi_enddef(ncid)) == NC_NOERR) {
    int variables;
    MPI_Offset value;
    MUST(ncmpi_inq_nvars(ncid, &variables));
    for (int i = 0; i < variables; ++i) {
      MUST(ncmpi_inq_varoffset(ncid, i, &value));
      show("variable %d at %lld", i, (long long)value);
    }
    MUST(ncmpi_inq_recsize(ncid, &value));
    show("records of %lld", (long long)value);
    TRY(ncmpi_close(ncid));
  } else {
    ncmpi_abort(ncid); /* in the reference all ranks delete the file, and only the first succeeds */
  }
}

#define ONE(cmode, what, first, ...)                                        \
  do {                                                                      \
    const Shape shapes[] = {__VA_ARGS__};                                   \
    one(cmode, what, (int)(sizeof shapes / sizeof *shapes), shapes, first); \
  } while (0)

/* A definition that no format can hold is refused at once, if possible. */
static void beyond_all_formats(int cmode, MPI_Offset length) {
  const nc_type types[] = {NC_BYTE, NC_SHORT, NC_INT, NC_DOUBLE};
  int ncid, id, t, two, long_one;
  show("---- format 0x%x: a dimension of %lld", (unsigned)cmode, (long long)length);
  MUST(ncmpi_create(MPI_COMM_WORLD, "limits.nc", cmode | NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "two", 2, &two));
  MUST(ncmpi_def_dim(ncid, "long", length, &long_one));
  for (int type = 0; type < 4; ++type) {
    const int lists[][3] = {{long_one}, {t, long_one}, {two, long_one}, {t, two, long_one}};
    const int ranks[] = {1, 2, 2, 3};
    for (int i = 0; i < 4; ++i) {
      char name[20];
      snprintf(name, sizeof name, "v%d_%d", type, i);
      TRY(ncmpi_def_var(ncid, name, types[type], ranks[i], lists[i], &id));
    }
  }
  int variables;
  MUST(ncmpi_inq_nvars(ncid, &variables));
  show("%d variables", variables);
  ncmpi_abort(ncid);
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  const int modes[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
  const MPI_Offset two30 = 1073741824LL, two31 = 2147483648LL, two32 = 4294967296LL;
  for (int i = 0; i < 3; ++i) {
    ONE(modes[i], "bytes just below 2^31", 0, {NC_BYTE, two31 - 4, 0});
    ONE(modes[i], "bytes just below 2^31, and another behind", 0, {NC_BYTE, two31 - 4, 0}, {NC_INT, 1, 0});
    ONE(modes[i], "small, then just below 2^31", 0, {NC_INT, 1, 0}, {NC_BYTE, two31 - 4, 0});
    ONE(modes[i], "2^31 bytes as ints, last", 0, {NC_INT, two30 / 2, 0});
    ONE(modes[i], "2^32 bytes as ints, last", 0, {NC_INT, two30, 0});
    ONE(modes[i], "2^32 bytes as ints, not last", 0, {NC_INT, two30, 0}, {NC_INT, 1, 0});
    ONE(modes[i], "2^32 - 4 bytes, not last", 0, {NC_INT, two30 - 1, 0}, {NC_INT, 1, 0});
    ONE(modes[i], "2^34 bytes in two dimensions, last", 0, {NC_DOUBLE, two30, 2});
    ONE(modes[i], "two large ones", 0, {NC_DOUBLE, two30, 2}, {NC_DOUBLE, two30, 2});
    ONE(modes[i], "a large one and a record variable", 0, {NC_INT, two30, 0}, {NC_INT, 0, 3});
    ONE(modes[i], "a large record variable", 0, {NC_INT, 0, two30});
    ONE(modes[i], "a large record variable, not last", 0, {NC_INT, 0, two30}, {NC_INT, 0, 3});
    ONE(modes[i], "a large record variable, last", 1, {NC_INT, 0, two30});
    ONE(modes[i], "a large record variable, last, after fixed ones", 1, {NC_INT, 5, 0}, {NC_INT, 0, two30});
    ONE(modes[i], "dimension of 2^32", 0, {NC_BYTE, two32, 0});
    ONE(modes[i], "very large", 0, {NC_DOUBLE, two30 * 1024, 1024});
    ONE(modes[i], "odd records", 0, {NC_BYTE, 0, 3}, {NC_SHORT, 0, 3});
    ONE(modes[i], "one odd record variable", 0, {NC_BYTE, 0, 3});
    ONE(modes[i], "odd fixed sizes", 0, {NC_BYTE, 3, 0}, {NC_SHORT, 3, 0}, {NC_DOUBLE, 1, 0},
        {NC_BYTE, 0, 5});
  }
  const MPI_Offset most = 9223372036854775807LL;
  const MPI_Offset lengths[] = {most, most - 3, most - 4, most / 4, most / 4 + 1, most / 8, most / 8 + 1};
  for (int i = 0; i < 7; ++i) beyond_all_formats(NC_64BIT_DATA, lengths[i]);
  beyond_all_formats(NC_64BIT_OFFSET, two31 - 4);
  beyond_all_formats(0, two31 - 4);
  return report_end();
}
