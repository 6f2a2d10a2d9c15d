/* Alignment and reserved space: arguments of _enddef, hints, and what inquiries return for them, as far as
 * 1.12.3 agrees with 1.15. tests/c_api/redefinition.c tests the rules of 1.15. */
#include "report.h"

/* For records alone, and after an enddef without arguments, 1.15 returns another alignment. */
static int shows_record_alignment = 1;

static void show_layout(int ncid) {
  MPI_Offset size, extent, record_size, offset;
  int variables = 0;
  TRY(ncmpi_inq_header_size(ncid, &size));
  TRY(ncmpi_inq_header_extent(ncid, &extent));
  TRY(ncmpi_inq_recsize(ncid, &record_size));
  if (extent == 0) size = 0; /* not written yet: only PnetCDF 1.13 and later know the size */
  show("header %lld in %lld, records of %lld", (long long)size, (long long)extent, (long long)record_size);
  MUST(ncmpi_inq_nvars(ncid, &variables));
  for (int i = 0; i < variables; ++i) {
    MUST(ncmpi_inq_varoffset(ncid, i, &offset));
    show("variable %d at %lld", i, (long long)offset);
  }
  const char* keys[] = {
      "nc_record_align_size", "nc_header_read_chunk_size", "nc_in_place_swap", "nc_ibuf_size",
      "pnetcdf_subfiling",    "nc_num_subfiles",           "unknown",          "other"};
  MPI_Info info;
  MUST(ncmpi_inq_file_info(ncid, &info));
  for (size_t i = shows_record_alignment ? 0 : 1; i < sizeof keys / sizeof *keys; ++i) {
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;
    MPI_Info_get(info, (char*)keys[i], MPI_MAX_INFO_VAL, value, &found);
    show("%s = %s", keys[i], found ? value : "(none)");
  }
  MPI_Info_free(&info);
}

static MPI_Info hints(const char* header, const char* record) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (header) MPI_Info_set(info, "nc_header_align_size", header);
  if (record) MPI_Info_set(info, "nc_record_align_size", record);
  MPI_Info_set(info, "unknown", "x");
  return info;
}

static void one(const char* path, MPI_Info info, const MPI_Offset* first, const MPI_Offset* second) {
  int ncid, t, x, id;
  shows_record_alignment = first == NULL || second != NULL;
  show("---- %s", path);
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, info, &ncid));
  show_layout(ncid);
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "x", 5, &x));
  MUST(ncmpi_def_var(ncid, "fixed", NC_SHORT, 1, &x, &id));
  MUST(ncmpi_def_var(ncid, "fixed2", NC_INT, 1, &x, &id));
  MUST(ncmpi_def_var(ncid, "record", NC_INT, 1, &t, &id));
  if (first)
    MUST(ncmpi__enddef(ncid, first[0], first[1], first[2], first[3]));
  else
    MUST(ncmpi_enddef(ncid));
  show_layout(ncid);
  MUST(ncmpi_redef(ncid));
  show_layout(ncid);
  MUST(ncmpi_def_var(ncid, "fixed3", NC_INT, 1, &x, &id));
  MUST(ncmpi_def_var(ncid, "record2", NC_INT, 1, &t, &id));
  if (second)
    MUST(ncmpi__enddef(ncid, second[0], second[1], second[2], second[3]));
  else
    MUST(ncmpi_enddef(ncid));
  show_layout(ncid);
  MUST(ncmpi_close(ncid));

  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, info, &ncid));
  show("-- opened");
  show_layout(ncid);
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 4, "test"));
  if (second)
    MUST(ncmpi__enddef(ncid, second[0], second[1], second[2], second[3]));
  else
    MUST(ncmpi_enddef(ncid));
  show_layout(ncid);
  MUST(ncmpi_close(ncid));
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

static void only_records(void) {
  int ncid, t, id;
  shows_record_alignment = 0;
  MUST(ncmpi_create(MPI_COMM_WORLD, "alignment_records.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_enddef(ncid));
  show_layout(ncid);
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_def_var(ncid, "record", NC_SHORT, 1, &t, &id));
  MUST(ncmpi_enddef(ncid));
  show_layout(ncid);
  MUST(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  const MPI_Offset align[4] = {0, 1024, 0, 256}, room[4] = {100, 4, 200, 4}, zero[4] = {0};
  unsetenv("PNETCDF_HINTS");
  one("alignment_default.nc", MPI_INFO_NULL, NULL, NULL);
  one("alignment_arguments.nc", MPI_INFO_NULL, align, NULL);
  one("alignment_twice.nc", MPI_INFO_NULL, align, align);
  one("alignment_room.nc", MPI_INFO_NULL, room, room);
  one("alignment_zero.nc", MPI_INFO_NULL, zero, zero);
  one("alignment_room_later.nc", MPI_INFO_NULL, NULL, room);
  one("alignment_hints.nc", hints("100", "40"), NULL, NULL);
  one("alignment_hint_header.nc", hints("2048", NULL), align, align);
  one("alignment_bad_hints.nc", hints("-5", "0"), NULL, NULL);
  only_records();
  setenv("PNETCDF_HINTS", "nc_header_align_size=72; other=5 ;nc_record_align_size=16;", 1);
  one("alignment_environment.nc", MPI_INFO_NULL, NULL, NULL);
  one("alignment_both.nc", hints("100", "40"), NULL, NULL);
  return report_end();
}
