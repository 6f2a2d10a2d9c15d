/* coverage PREFIX DIRECTORY: reads PREFIX001.nc … by netCDF-C as they come, and writes
   DIRECTORY/coverage.txt: for each, the step, how much of v there is, and how much of the region it covers.
 */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void check(int status, const char* path) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "coverage: %s: %s\n", path, nc_strerror(status));
  exit(1);
}

/* 0 after the last file. */
static int look_at(const char* path, FILE* table) {
  int file, variable, dimensions[2], step;
  size_t rows, columns, covered = 0;
  double sum = 0;
  const int status = nc_open(path, NC_NOWRITE, &file);
  if (status == 2) return 0; /* ENOENT */
  check(status, path);
  check(nc_inq_varid(file, "v", &variable), path);
  check(nc_inq_vardimid(file, variable, dimensions), path);
  check(nc_inq_dimlen(file, dimensions[0], &rows), path);
  check(nc_inq_dimlen(file, dimensions[1], &columns), path);
  check(nc_get_att_int(file, NC_GLOBAL, "step", &step), path);
  float* const v = malloc(rows * columns * sizeof *v);
  check(v != NULL ? nc_get_var_float(file, variable, v) : NC_ENOMEM, path);
  check(nc_close(file), path);
  for (size_t i = 0; i < rows * columns; ++i) sum += v[i], covered += v[i] > 0.15F;
  const double cells = (double)(rows * columns);
  fprintf(table, "%6d %10.6f %8.4f\n", step, sum / cells, (double)covered / cells);
  printf("%s: step %d, %.1f %% covered\n", path, step, 100 * (double)covered / cells);
  fflush(stdout);
  free(v);
  return 1;
}

int main(int argc, char** argv) {
  char path[1000];
  if (argc != 3) return 2;
  mkdir("demo-output", 0777);
  mkdir(argv[2], 0777);
  snprintf(path, sizeof path, "%s/coverage.txt", argv[2]);
  FILE* const table = fopen(path, "w");
  if (table == NULL) return perror(path), 1;
  int number = 0;
  do {
    snprintf(path, sizeof path, "%s%03d.nc", argv[1], ++number);
  } while (look_at(path, table));
  fclose(table);
  return number > 1 ? 0 : (fprintf(stderr, "coverage: there is no %s\n", path), 1);
}
