/* Creating, opening and deleting: flags; files that exist, are missing, or are not netCDF; formats; ids;
 * paths. */
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"

static void write_file(const char* path, const void* bytes, size_t size) {
  if (report_rank == 0) {
    FILE* file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size) MPI_Abort(MPI_COMM_WORLD, 7);
    fclose(file);
  }
  together();
}

static void create_and_close(const char* path, int cmode) {
  int ncid = -77, format = -77, version = -77, status;
  status = ncmpi_create(MPI_COMM_WORLD, path, cmode, MPI_INFO_NULL, &ncid);
  show("create mode 0x%x -> %s", (unsigned)cmode, ncmpi_strerrno(status));
  if (status != NC_NOERR && status != NC_EMULTIDEFINE_CMODE) return;
  TRY(ncmpi_inq_format(ncid, &format)), show("format %d", format);
  TRY(ncmpi_inq_version(ncid, &version)), show("version 0x%x", (unsigned)version);
  TRY(ncmpi_close(ncid));
  together();
  TRY(ncmpi_inq_file_format(path, &format)), show("file format %d", format);
  together();
}

static void open_and_close(const char* path, int omode) {
  int ncid = -77, format = -77;
  int status = ncmpi_open(MPI_COMM_WORLD, path, omode, MPI_INFO_NULL, &ncid);
  show("open %s mode 0x%x -> %s", path, (unsigned)omode, ncmpi_strerrno(status));
  if (status == NC_NOERR) {
    TRY(ncmpi_inq_format(ncid, &format)), show("format %d", format);
    TRY(ncmpi_close(ncid));
  }
  format = -77;
  TRY(ncmpi_inq_file_format(path, &format)), show("format %d", format);
}

static void default_formats(void) {
  int format = -77;
  TRY(ncmpi_inq_default_format(&format)), show("default %d", format);
  TRY(ncmpi_inq_default_format(NULL));
  for (int f = -1; f < 8; ++f) {
    if (f == NC_FORMAT_NETCDF4 || f == NC_FORMAT_NETCDF4_CLASSIC)
      continue; /* here the reference returns nonsense */
    show("set default format %d", f);
    TRY(ncmpi_set_default_format(f, &format)), show("old %d", format);
    TRY(ncmpi_inq_default_format(&format)), show("default %d", format);
    create_and_close("files_default.nc", 0);
  }
  TRY(ncmpi_set_default_format(1, NULL));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  int ncid, other;
  const int modes[] = {0,
                       NC_NOCLOBBER,
                       NC_64BIT_OFFSET,
                       NC_64BIT_DATA,
                       NC_64BIT_DATA | NC_64BIT_OFFSET,
                       NC_CLASSIC_MODEL,
                       NC_SHARE,
                       NC_WRITE,
                       NC_DISKLESS,
                       NC_MMAP,
                       NC_LOCK,
                       NC_PNETCDF,
                       NC_NETCDF4,
                       NC_NETCDF4 | NC_CLASSIC_MODEL,
                       NC_NETCDF4 | NC_64BIT_DATA,
                       NC_64BIT_OFFSET | NC_NETCDF4,
                       NC_BP,
                       NC_32BIT,
                       0x40000000,
                       2};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
    char path[40];
    snprintf(path, sizeof path, "files_mode_%zu.nc", i);
    create_and_close(path, modes[i]);
    create_and_close(path, modes[i] | NC_NOCLOBBER);
  }
  default_formats();

  show("---- paths");
  TRY(ncmpi_create(MPI_COMM_WORLD, "", 0, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_create(MPI_COMM_WORLD, "no_such_directory/x.nc", 0, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_create(MPI_COMM_WORLD, ".", 0, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_open(MPI_COMM_WORLD, "", 0, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_open(MPI_COMM_WORLD, "missing.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_open(MPI_COMM_WORLD, "missing.nc", NC_WRITE, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_open(MPI_COMM_WORLD, "no_such_directory/x.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  together();
  if (report_rank == 0) {
    TRY(ncmpi_delete("missing.nc", MPI_INFO_NULL));
    TRY(ncmpi_delete("files_mode_0.nc", MPI_INFO_NULL));
    TRY(ncmpi_delete("files_mode_0.nc", MPI_INFO_NULL));
    TRY(ncmpi_delete("no_such_directory/x.nc", MPI_INFO_NULL));
    TRY(ncmpi_delete("", MPI_INFO_NULL));
  }
  together();
  int format = -77;
  TRY(ncmpi_inq_file_format("missing.nc", &format)), show("format %d", format);
  TRY(ncmpi_inq_file_format("files_mode_1.nc", NULL));
  TRY(ncmpi_inq_file_format("missing.nc", NULL));
  TRY(ncmpi_inq_file_format("", &format)), show("format %d", format);
  TRY(ncmpi_inq_file_format(".", &format)), show("format %d", format);
  TRY(ncmpi_inq_file_format("ufs:files_mode_3.nc", &format)), show("format %d", format);

  show("---- path");
  MUST(ncmpi_create(MPI_COMM_WORLD, "./files_path.nc", 0, MPI_INFO_NULL, &ncid));
  char path[100];
  int length = -1;
  TRY(ncmpi_inq_path(ncid, &length, path)), show("path %s %d", path, length);
  TRY(ncmpi_inq_path(ncid, NULL, NULL));
  TRY(ncmpi_close(ncid));

  show("---- files that are not netCDF, or damaged");
  write_file("files_empty.nc", "", 0);
  write_file("files_text.nc", "this is not a netCDF file at all, but some text of more than thirty-two bytes",
             76);
  write_file("files_short.nc", "CDF", 3);
  write_file("files_magic.nc", "CDF\001", 4);
  write_file("files_version.nc", "CDF\003\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32);
  write_file(
      "files_hdf5.nc",
      "\211HDF\r\n\032\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
      48);
  write_file("files_no_data.nc", "CDF\001\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32);
  TRY(ncmpi_inq_file_format("files_text.nc/x", &format)), show("format %d", format);
  const char* damaged[] = {"files_empty.nc",   "files_text.nc", "files_short.nc",  "files_magic.nc",
                           "files_version.nc", "files_hdf5.nc", "files_no_data.nc"};
  for (size_t i = 0; i < sizeof damaged / sizeof *damaged; ++i)
    open_and_close(damaged[i], i % 2 ? NC_WRITE : NC_NOWRITE);
  together();
  if (report_rank == 0)
    for (size_t i = 0; i + 1 < sizeof damaged / sizeof *damaged; ++i) unlink(damaged[i]);

  show("---- open flags");
  const int open_modes[] = {
      NC_NOWRITE, NC_WRITE,    NC_NOCLOBBER, NC_64BIT_DATA, NC_64BIT_OFFSET,  NC_64BIT_DATA | NC_64BIT_OFFSET,
      NC_NETCDF4, NC_DISKLESS, NC_MMAP,      NC_LOCK,       NC_CLASSIC_MODEL, NC_WRITE | NC_SHARE};
  for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; ++i)
    open_and_close("files_mode_3.nc", open_modes[i]);

  show("---- texts");
  for (int status = -300; status < 3; ++status) {
    const int is_of_later_version = (status >= -243 && status <= -241) || status == -274;
    if (!is_of_later_version) show("%d %s %s", status, ncmpi_strerrno(status), ncmpi_strerror(status));
  }
  show("version %.2s", ncmpi_inq_libvers());

  show("---- many");
  int ids[20], count = -1;
  TRY(ncmpi_inq_files_opened(&count, NULL)), show("open %d", count);
  for (int i = 0; i < 5; ++i) {
    MUST(ncmpi_open(MPI_COMM_WORLD, "files_mode_3.nc", NC_NOWRITE, MPI_INFO_NULL, &ids[i]));
    show("id %d", ids[i]);
  }
  MUST(ncmpi_close(ids[1]));
  MUST(ncmpi_close(ids[3]));
  int list[20];
  TRY(ncmpi_inq_files_opened(&count, list));
  for (int i = 0; i < count; ++i) show("open id %d", list[i]);
  TRY(ncmpi_inq_files_opened(NULL, list));
  MUST(ncmpi_open(MPI_COMM_WORLD, "files_mode_3.nc", NC_NOWRITE, MPI_INFO_NULL, &ids[1]));
  show("id %d", ids[1]);
  MUST(ncmpi_close(ids[0]));
  MUST(ncmpi_close(ids[1]));
  MUST(ncmpi_close(ids[2]));
  MUST(ncmpi_close(ids[4]));

  show("---- the user frees his communicator");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MUST(ncmpi_create(comm, "files_communicator.nc", 0, MPI_INFO_NULL, &ncid));
  MPI_Comm_free(&comm);
  MUST(ncmpi_def_dim(ncid, "x", 5, &other));
  TRY(ncmpi_enddef(ncid));
  TRY(ncmpi_close(ncid));
  TRY(ncmpi_create(MPI_COMM_SELF, report_rank ? "files_self_other.nc" : "files_self.nc", 0, MPI_INFO_NULL,
                   &ncid));
  if (report_rank < 2) TRY(ncmpi_close(ncid));
  return report_end();
}
