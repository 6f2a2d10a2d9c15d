/* Attributes of all types through all functions: conversion, range and text errors, modes, names, copies. */
#include "report.h"

static int define(const char* path, int cmode) {
  int ncid, x, id;
  MUST(ncmpi_create(MPI_COMM_WORLD, path, cmode, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", 4, &x));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &x, &id));
  MUST(ncmpi_def_var(ncid, "w", NC_CHAR, 1, &x, &id));
  MUST(ncmpi_def_var(ncid, "f", NC_FLOAT, 1, &x, &id));
  return ncid;
}

static void show_attribute(int ncid, int varid, const char* name) {
  nc_type type = -1;
  MPI_Offset length = -1;
  int id = -1;
  TRY(ncmpi_inq_att(ncid, varid, name, &type, &length)),
      show("%s type %d length %lld", name, type, (long long)length);
  TRY(ncmpi_inq_attid(ncid, varid, name, &id)), show("id %d", id);
  if (length < 0 || length > 100) return;
  double doubles[100];
  for (int i = 0; i < 100; ++i) doubles[i] = -777;
  TRY(ncmpi_get_att_double(ncid, varid, name, doubles));
  for (int i = 0; i < length; ++i) show("%.17g", doubles[i]);
  signed char bytes[100];
  memset(bytes, 99, sizeof bytes);
  TRY(ncmpi_get_att_schar(ncid, varid, name, bytes));
  for (int i = 0; i < length; ++i) show("%d", bytes[i]);
  unsigned char ubytes[100];
  memset(ubytes, 99, sizeof ubytes);
  TRY(ncmpi_get_att_uchar(ncid, varid, name, ubytes));
  for (int i = 0; i < length; ++i) show("%d", ubytes[i]);
  unsigned long long big[100];
  for (int i = 0; i < 100; ++i) big[i] = 99;
  TRY(ncmpi_get_att_ulonglong(ncid, varid, name, big));
  for (int i = 0; i < length; ++i) show("%llu", big[i]);
  long longs[100];
  for (int i = 0; i < 100; ++i) longs[i] = 99;
  TRY(ncmpi_get_att_long(ncid, varid, name, longs));
  for (int i = 0; i < length; ++i) show("%ld", longs[i]);
  short shorts[100];
  for (int i = 0; i < 100; ++i) shorts[i] = 99;
  TRY(ncmpi_get_att_short(ncid, varid, name, shorts));
  for (int i = 0; i < length; ++i) show("%d", shorts[i]);
  float floats[100];
  for (int i = 0; i < 100; ++i) floats[i] = 99;
  TRY(ncmpi_get_att_float(ncid, varid, name, floats));
  for (int i = 0; i < length; ++i) show("%.9g", floats[i]);
  char text[101] = {0};
  TRY(ncmpi_get_att_text(ncid, varid, name, text));
  char any[800] = {0};
  TRY(ncmpi_get_att(ncid, varid, name, any));
}

static void put_all(int ncid) {
  const double doubles[] = {0, -1, 1.5, 127, 128, 255, 256, 32768, 65536, 3e9, 5e9, 1e20, -1e20, 1e300};
  const long long longs[] = {
      0, -1, 127, -128, -129, 255, 256, 65535, 65536, 4294967296LL, -9223372036854775807LL - 1};
  const unsigned char ubytes[] = {0, 127, 128, 255};
  const signed char bytes[] = {0, 127, -128, -1};
  const unsigned long long huge[] = {18446744073709551615ULL, 9223372036854775808ULL, 1};
  const unsigned char any[8] = {65, 66, 67, 68, 69, 70, 71, 72};
  char name[30];
  for (int type = 0; type <= 12; ++type) {
    show("---- type %d", type);
    snprintf(name, sizeof name, "doubles_%d", type);
    TRY(ncmpi_put_att_double(ncid, NC_GLOBAL, name, type, 14, doubles));
    show_attribute(ncid, NC_GLOBAL, name);
    snprintf(name, sizeof name, "longs_%d", type);
    TRY(ncmpi_put_att_longlong(ncid, 0, name, type, 11, longs));
    show_attribute(ncid, 0, name);
    snprintf(name, sizeof name, "ubytes_%d", type);
    TRY(ncmpi_put_att_uchar(ncid, 0, name, type, 4, ubytes));
    show_attribute(ncid, 0, name);
    snprintf(name, sizeof name, "bytes_%d", type);
    TRY(ncmpi_put_att_schar(ncid, 0, name, type, 4, bytes));
    show_attribute(ncid, 0, name);
    snprintf(name, sizeof name, "huge_%d", type);
    TRY(ncmpi_put_att_ulonglong(ncid, 0, name, type, 3, huge));
    show_attribute(ncid, 0, name);
    snprintf(name, sizeof name, "any_%d", type);
    TRY(ncmpi_put_att(ncid, 1, name, type, 1, any));
    show_attribute(ncid, 1, name);
  }
}

static void odd_cases(int ncid) {
  int value = 3, values[3] = {1, 2, 3};
  float one = 1;
  char name[300];
  TRY(ncmpi_put_att_text(ncid, 0, "text", 5, "hello"));
  TRY(ncmpi_put_att_text(ncid, 0, "text", 0, NULL));
  TRY(ncmpi_put_att_text(ncid, 0, "text", 0, ""));
  TRY(ncmpi_put_att_text(ncid, 0, "text", -1, "x"));
  TRY(ncmpi_put_att_text(ncid, 0, "text", 1, NULL));
  TRY(ncmpi_put_att_int(ncid, 0, "empty", NC_INT, 0, NULL));
  TRY(ncmpi_put_att_int(ncid, 0, "empty", NC_INT, 1, NULL));
  TRY(ncmpi_put_att_int(ncid, 0, "negative", NC_INT, -1, values));
  TRY(ncmpi_put_att_int(ncid, 99, "x", NC_INT, 1, values));
  TRY(ncmpi_put_att_int(ncid, -2, "x", NC_INT, 1, values));
  TRY(ncmpi_put_att_int(ncid, 99, "a/b", NC_INT, 1, values));
  TRY(ncmpi_put_att_int(ncid, 99, "a/b", 77, -1, values));
  TRY(ncmpi_put_att_int(ncid, 0, "a/b", 77, -1, values));
  TRY(ncmpi_put_att_int(ncid, 0, "ok", 77, -1, values));
  TRY(ncmpi_put_att_int(ncid, 0, "ok", NC_CHAR, -1, values));
  TRY(ncmpi_put_att_int(ncid, 0, "ok", NC_CHAR, 1, values));
  TRY(ncmpi_put_att_int(ncid, 0, NULL, NC_INT, 1, values));
  TRY(ncmpi_put_att_int(ncid, 0, "", NC_INT, 1, values));
  memset(name, 'a', sizeof name), name[257] = 0;
  TRY(ncmpi_put_att_int(ncid, 0, name, NC_INT, 1, values));
  TRY(ncmpi_put_att_text(ncid, 99, "a/b", 1, "x"));
  TRY(ncmpi_put_att_int(ncid, 0, "grows", NC_INT, 1, values));
  TRY(ncmpi_put_att_int(ncid, 0, "grows", NC_INT, 3, values));
  TRY(ncmpi_put_att_int(ncid, 0, "grows", NC_DOUBLE, 1, values));
  TRY(ncmpi_put_att_int(ncid, 0, "_FillValue", NC_FLOAT, 1, &value));
  TRY(ncmpi_put_att_int(ncid, 0, "_FillValue", NC_INT, 2, values));
  TRY(ncmpi_put_att_int(ncid, 0, "_FillValue", NC_INT, 1, &value));
  TRY(ncmpi_put_att_float(ncid, 2, "_FillValue", NC_FLOAT, 1, &one));
  TRY(ncmpi_put_att_int(ncid, NC_GLOBAL, "_FillValue", NC_FLOAT, 2, values));
  int no_fill = -1;
  TRY(ncmpi_inq_var_fill(ncid, 0, &no_fill, &value)), show("no_fill %d value %d", no_fill, value);

  TRY(ncmpi_get_att_int(ncid, 0, "missing", values));
  TRY(ncmpi_get_att_int(ncid, 99, "missing", values));
  TRY(ncmpi_get_att_int(ncid, 0, NULL, values));
  TRY(ncmpi_get_att_int(ncid, 0, "a/b", values));
  TRY(ncmpi_get_att_int(ncid, 0, "", values));
  TRY(ncmpi_get_att_int(ncid, 0, "text", values));
  TRY(ncmpi_inq_att(ncid, 0, "missing", NULL, NULL));
  TRY(ncmpi_inq_att(ncid, 99, "missing", NULL, NULL));
  TRY(ncmpi_inq_att(ncid, 0, "grows", NULL, NULL));
  TRY(ncmpi_inq_atttype(ncid, 0, "grows", NULL));
  TRY(ncmpi_inq_attlen(ncid, 0, "grows", NULL));
  TRY(ncmpi_inq_attid(ncid, 0, "grows", NULL));
  TRY(ncmpi_inq_attid(ncid, 0, "missing", NULL));
  TRY(ncmpi_inq_attname(ncid, 0, 0, name)), show("%s", name);
  TRY(ncmpi_inq_attname(ncid, 0, 99, name));
  TRY(ncmpi_inq_attname(ncid, 0, -1, name));
  TRY(ncmpi_inq_attname(ncid, 99, 0, name));
  TRY(ncmpi_inq_attname(ncid, 0, 0, NULL));

  TRY(ncmpi_rename_att(ncid, 0, "grows", "grown"));
  TRY(ncmpi_rename_att(ncid, 0, "grown", "g"));
  TRY(ncmpi_rename_att(ncid, 0, "g", "g"));
  TRY(ncmpi_rename_att(ncid, 0, "g", "text"));
  TRY(ncmpi_rename_att(ncid, 0, "missing", "text"));
  TRY(ncmpi_rename_att(ncid, 0, "missing", "a/b"));
  TRY(ncmpi_rename_att(ncid, 0, "g", "a/b"));
  TRY(ncmpi_rename_att(ncid, 0, "g", NULL));
  TRY(ncmpi_rename_att(ncid, 0, NULL, "h"));
  TRY(ncmpi_rename_att(ncid, 99, "missing", "a/b"));
  TRY(ncmpi_rename_att(ncid, 0, "g", "grows"));

  TRY(ncmpi_del_att(ncid, 0, "missing"));
  TRY(ncmpi_del_att(ncid, 99, "missing"));
  TRY(ncmpi_del_att(ncid, 0, NULL));
  TRY(ncmpi_del_att(ncid, 0, "a/b"));
  TRY(ncmpi_del_att(ncid, 0, "empty"));
}

static void copies(int from, int to) {
  TRY(ncmpi_copy_att(from, 0, "grows", to, 1));
  TRY(ncmpi_copy_att(from, 0, "grows", to, 1));
  TRY(ncmpi_copy_att(from, 0, "grows", to, 0));
  TRY(ncmpi_copy_att(from, 0, "missing", to, 0));
  TRY(ncmpi_copy_att(from, 99, "missing", to, 0));
  TRY(ncmpi_copy_att(from, 99, "missing", to, 99));
  TRY(ncmpi_copy_att(from, 0, "missing", to, 99));
  TRY(ncmpi_copy_att(from, 0, "grows", to, 99));
  TRY(ncmpi_copy_att(from, 0, "grows", to, NC_GLOBAL));
  TRY(ncmpi_copy_att(from, 0, "_FillValue", to, 0));
  TRY(ncmpi_copy_att(from, 0, "_FillValue", to, 2));
}

static void one_format(const char* path, const char* other_path, int cmode) {
  show("==== %s", path);
  int ncid = define(path, cmode), other = define(other_path, NC_64BIT_OFFSET);
  put_all(ncid);
  odd_cases(ncid);
  copies(ncid, other);
  copies(ncid, ncid);
  MUST(ncmpi_enddef(other));
  show("---- copies to a dataset in data mode");
  copies(ncid, other);
  MUST(ncmpi_enddef(ncid));
  show("---- data mode");
  odd_cases(ncid);
  int three[3] = {1, 2, 3};
  TRY(ncmpi_put_att_int(ncid, 0, "grows", NC_INT, 1, three));
  TRY(ncmpi_put_att_int(ncid, 0, "grows", NC_INT, 2, three));
  TRY(ncmpi_put_att_int(ncid, 0, "grows", NC_BYTE, 3, three));
  TRY(ncmpi_put_att_int(ncid, 0, "grows", NC_BYTE, 1, three));
  TRY(ncmpi_put_att_int(ncid, 0, "new", NC_BYTE, 1, three));
  TRY(ncmpi_del_att(ncid, 0, "grows"));
  MUST(ncmpi_begin_indep_data(ncid));
  show("---- independent");
  TRY(ncmpi_put_att_int(ncid, 0, "grows", NC_BYTE, 1, three));
  TRY(ncmpi_rename_att(ncid, 0, "grows", "grow"));
  TRY(ncmpi_rename_att(ncid, 0, "grow", "grows"));
  TRY(ncmpi_rename_var(ncid, 0, "u"));
  TRY(ncmpi_rename_dim(ncid, 0, "y"));
  MUST(ncmpi_end_indep_data(ncid));
  TRY(ncmpi_close(ncid));
  TRY(ncmpi_close(other));
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  show("---- read only");
  odd_cases(ncid);
  TRY(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_redef(ncid));
  show("---- redefinition");
  odd_cases(ncid);
  TRY(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  one_format("attributes_1.nc", "attributes_1_copy.nc", 0);
  one_format("attributes_5.nc", "attributes_5_copy.nc", NC_64BIT_DATA);
  return report_end();
}
