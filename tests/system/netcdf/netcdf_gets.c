/* netcdf_gets write|read FILE: many small gets of variables of several shapes, forwards, backwards and in no
 * order; prints statuses and values. */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t shape[3] = {7, 90, 31};
static int file, status;

static void ok(int result) {
  if (result == NC_NOERR) return;
  fprintf(stderr, "%s\n", nc_strerror(result));
  exit(1);
}

static void write_file(const char* path, int mode) {
  int dims[3], v, w, s;
  ok(nc_create(path, mode, &file));
  ok(nc_def_dim(file, "t", NC_UNLIMITED, &dims[0]));
  ok(nc_def_dim(file, "y", shape[1], &dims[1]));
  ok(nc_def_dim(file, "x", shape[2], &dims[2]));
  ok(nc_def_var(file, "v", NC_DOUBLE, 3, dims, &v));
  ok(nc_def_var(file, "w", NC_CHAR, 2, dims + 1, &w));
  ok(nc_def_var(file, "s", NC_INT, 0, NULL, &s));
  ok(nc_enddef(file));
  const size_t all = shape[0] * shape[1] * shape[2], start[3] = {0, 0, 0};
  double* values = malloc(all * sizeof *values);
  for (size_t i = 0; i < all; ++i) values[i] = (double)i / 2;
  values[4000] = 1e30; /* no int */
  ok(nc_put_vara_double(file, v, start, shape, values));
  char* letters = (char*)values;
  for (size_t i = 0; i < shape[1] * shape[2]; ++i) letters[i] = (char)('a' + i % 26);
  ok(nc_put_var_text(file, w, letters));
  const int scalar = 7;
  ok(nc_put_var_int(file, s, &scalar));
  free(values);
  ok(nc_close(file));
}

static void get(const size_t* at) {
  double value = -1;
  int number = -1;
  char letters[4] = "";
  const size_t count[3] = {1, 2, 3};
  double block[6] = {0};
  status = nc_get_var1_double(file, 0, at, &value);
  printf("%g %d", value, status);
  status = nc_get_var1_int(file, 0, at, &number);
  printf(" %d %d", status == NC_NOERR ? number : 0, status);
  status = nc_get_vara_double(file, 0, at, count, block);
  printf(" %d %g %g", status, block[2], block[5]);
  status = nc_get_var1_text(file, 1, at + 1, letters);
  printf(" %s %d\n", letters, status);
}

static void read_file(const char* path) {
  int scalar = 0;
  unsigned seed = 1;
  ok(nc_open(path, NC_NOWRITE, &file));
  ok(nc_get_var_int(file, 2, &scalar));
  printf("%d\n", scalar);
  const size_t all = shape[0] * shape[1] * shape[2];
  for (size_t i = 0; i < 9000; ++i) {
    size_t each = i < 3000 ? i + 2000 : i < 6000 ? all - 1 - i : (seed = seed * 1103515245 + 12345) / 7 % all;
    const size_t at[3] = {each / shape[2] / shape[1], each / shape[2] % shape[1], each % shape[2]};
    get(at);
  }
  ok(nc_close(file));
}

int main(int count, char** words) {
  if (count != 3) return 2;
  if (strcmp(words[1], "read") == 0)
    read_file(words[2]);
  else
    write_file(words[2], strcmp(words[1], "write4") == 0 ? NC_NETCDF4 : 0);
  return 0;
}
