/* All keys of ncmpi_inq_file_info for many hints: after create, after enddef, and after opening for
 * reading and for writing. Also the user's buffer after a put that may swap it in place. */
#include "report.h"

static int compare_keys(const void* a, const void* b) {
  return strcmp(a, b);
}

/* Keys of MPI-IO depend on how a file is opened, and are not PnetCDF's. Only those that PnetCDF or the
 * program has set are printed. Alignments are left out, because 1.15 differs from 1.12.3. */
static int is_ours(const char* key) {
  if (strstr(key, "_align_size") != NULL) return 0;
  return strncmp(key, "nc_", 3) == 0 || strncmp(key, "pnetcdf_", 8) == 0 || strncmp(key, "my_", 3) == 0;
}

static void show_hints(int ncid, const char* when) {
  enum { most = 100 };
  static char keys[most][MPI_MAX_INFO_KEY + 1];
  MPI_Info info = MPI_INFO_NULL;
  int count = 0, found = 0, shown = 0;
  if (TRY(ncmpi_inq_file_info(ncid, &info)) != NC_NOERR || info == MPI_INFO_NULL) return;
  MPI_Info_get_nkeys(info, &count);
  for (int i = 0; i < count && shown < most; ++i) {
    MPI_Info_get_nthkey(info, i, keys[shown]);
    if (is_ours(keys[shown])) ++shown;
  }
  qsort(keys, (size_t)shown, sizeof keys[0], compare_keys);
  for (int i = 0; i < shown; ++i) {
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info_get(info, keys[i], MPI_MAX_INFO_VAL, value, &found);
    show("%s: %s = %s", when, keys[i], value);
  }
  MPI_Info_free(&info);
}

/* Settings: key=value, separated by spaces. */
static MPI_Info hints_of(const char* settings) {
  char text[400], *rest = text;
  MPI_Info info;
  MPI_Info_create(&info);
  snprintf(text, sizeof text, "%s", settings);
  for (char* entry = strtok_r(text, " ", &rest); entry; entry = strtok_r(NULL, " ", &rest)) {
    char* const equals = strchr(entry, '=');
    *equals = 0;
    MPI_Info_set(info, entry, equals + 1);
  }
  return info;
}

/* After the wait, the buffer has its earlier contents, swapped in place or not. With
 * nc_in_place_swap=disable, a pending put keeps its values even when the buffer changes. */
static void swap(int ncid, int varid, size_t count, int is_copied) {
  static int values[8192];
  MPI_Offset start = 0, length = (MPI_Offset)count;
  int request, status = NC_NOERR, same = 1;
  for (size_t i = 0; i < count; ++i) values[i] = (int)i;
  MUST(ncmpi_iput_vara_int(ncid, varid, &start, &length, values, &request));
  if (is_copied) values[0] = 77;
  MUST(ncmpi_wait_all(ncid, 1, &request, &status));
  if (is_copied) {
    MUST(ncmpi_get_var1_int_all(ncid, varid, &start, values));
    show("the first: %d", values[0]);
  }
  for (size_t i = 0; i < count; ++i) same = same && values[i] == (int)i;
  show("after iput of %zu: %s", count, same ? "as it was" : "changed");
  MUST(ncmpi_put_vara_int_all(ncid, varid, &start, &length, values));
  for (size_t i = 0; i < count; ++i) same = same && values[i] == (int)i;
  show("after put of %zu: %s", count, same ? "as it was" : "changed");
}

static void one(const char* path, const char* settings, const char* variable) {
  int ncid, x, t, id;
  MPI_Info info = settings ? hints_of(settings) : MPI_INFO_NULL;
  show("---- %s: %s", path, settings ? settings : "none");
  if (variable)
    setenv("PNETCDF_HINTS", variable, 1);
  else
    unsetenv("PNETCDF_HINTS");
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, info, &ncid));
  show_hints(ncid, "created");
  MUST(ncmpi_def_dim(ncid, "x", 8192, &x));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &x, &id));
  MUST(ncmpi_def_var(ncid, "r", NC_INT, 1, &t, &x));
  MUST(ncmpi_enddef(ncid));
  show_hints(ncid, "defined");
  const int is_copied = settings && strstr(settings, "nc_in_place_swap=disable");
  swap(ncid, id, 10, is_copied);
  swap(ncid, id, 8192, is_copied);
  MUST(ncmpi_redef(ncid));
  show_hints(ncid, "redefined");
  MUST(ncmpi__enddef(ncid, 10, 512, 20, 4));
  show_hints(ncid, "aligned");
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, info, &ncid));
  show_hints(ncid, "reading");
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid));
  show_hints(ncid, "writing");
  MUST(ncmpi_close(ncid));
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  one("none.nc", NULL, NULL);
  one("empty.nc", "", NULL);
  one("aligned.nc", "nc_header_align_size=1024 nc_record_align_size=8", NULL);
  one("odd.nc",
      "nc_header_align_size=-5 nc_var_align_size=abc nc_record_align_size=0 nc_header_read_chunk_size=12x",
      NULL);
  one("chunks.nc", "nc_header_read_chunk_size=4096", NULL);
  one("no_chunks.nc", "nc_header_read_chunk_size=0", NULL);
  one("bad_chunks.nc", "nc_header_read_chunk_size=-1", NULL);
  one("swap.nc", "nc_in_place_swap=enable", NULL);
  one("no_swap.nc", "nc_in_place_swap=disable", NULL);
  one("auto_swap.nc", "nc_in_place_swap=auto", NULL);
  one("odd_swap.nc", "nc_in_place_swap=ENABLE", NULL);
  one("bad_swap.nc", "nc_in_place_swap=maybe", NULL);
  one("ibuf.nc", "nc_ibuf_size=1000", NULL);
  one("no_ibuf.nc", "nc_ibuf_size=0", NULL);
  one("bad_ibuf.nc", "nc_ibuf_size=-3", NULL);
  one("odd_ibuf.nc", "nc_ibuf_size=x", NULL);
  one("hash.nc", "nc_hash_size_dim=16 nc_hash_size_var=32 nc_hash_size_gattr=4 nc_hash_size_vattr=2", NULL);
  one("bad_hash.nc", "nc_hash_size_dim=0 nc_hash_size_var=-32 nc_hash_size_gattr=x", NULL);
  one("subfiling.nc", "pnetcdf_subfiling=disable nc_num_subfiles=2", NULL);
  one("aggregators.nc", "nc_num_aggrs_per_node=1 nc_data_move_chunk_size=100", NULL);
  one("burst.nc",
      "nc_burst_buf=disable nc_burst_buf_dirname=/tmp nc_burst_buf_del_on_close=disable "
      "nc_burst_buf_flush_buffer_size=7",
      NULL);
  one("unknown.nc", "my_hint=1 nc_nothing=2 pnetcdf_other=3", NULL);
  one("environment.nc", "my_hint=1 nc_header_align_size=1024",
      "nc_header_align_size=2048;my_hint=2;nc_ibuf_size=77;my_third");
  one("environment_swap.nc", NULL, "nc_in_place_swap=enable;nc_hash_size_dim=9");
  return report_end();
}
