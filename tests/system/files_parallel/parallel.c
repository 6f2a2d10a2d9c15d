/* parallel FORM MODE: ranks that write files together. FORM: "raw" by MPI-IO, "hdf5", "netcdf": what this
 * program was built for. MODE: see main(). */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef WITH_HDF5
#include <hdf5.h>
#endif
#ifdef WITH_NETCDF
#include <netcdf.h>
#include <netcdf_par.h>
#endif

enum { count = 5000 };
static int rank, ranks;
static int values[count];

static void require(int is_good, const char* what, const char* name) {
  if (is_good) return;
  fprintf(stderr, "rank %d: %s %s\n", rank, what, name);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(int step) {
  for (int i = 0; i < count; ++i) values[i] = rank * count + i + step;
}

static void write_raw(MPI_Comm comm, const char* name, int mode, MPI_Offset offset) {
  MPI_File file;
  require(MPI_File_open(comm, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "cannot open", name);
  require(MPI_File_write_at_all(file, offset, values, count, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "cannot write", name);
  require(MPI_File_close(&file) == MPI_SUCCESS, "cannot close", name);
}

static void write_whole(const char* form, const char* name, int step) {
  fill(step);
  if (strcmp(form, "raw") == 0)
    return write_raw(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, rank * (MPI_Offset)sizeof values);
#ifdef WITH_HDF5
  if (strcmp(form, "hdf5") == 0) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    require(file >= 0, "cannot create", name);
    const hsize_t length = (hsize_t)ranks * count, begin = (hsize_t)rank * count, part = count;
    const hid_t all = H5Screate_simple(1, &length, NULL), own = H5Screate_simple(1, &part, NULL);
    const hid_t v = H5Dcreate2(file, "v", H5T_NATIVE_INT, all, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sselect_hyperslab(all, H5S_SELECT_SET, &begin, NULL, &part, NULL);
    require(H5Dwrite(v, H5T_NATIVE_INT, own, all, H5P_DEFAULT, values) >= 0, "cannot write", name);
    require(H5Dclose(v) >= 0 && H5Fclose(file) >= 0, "cannot close", name);
    H5Pclose(access);
    return;
  }
#endif
#ifdef WITH_NETCDF
  if (strcmp(form, "netcdf") == 0) {
    int file, x, v;
    require(nc_create_par(name, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file) == NC_NOERR,
            "cannot create", name);
    const size_t begin = (size_t)rank * count, part = count;
    require(nc_def_dim(file, "x", (size_t)ranks * count, &x) == NC_NOERR &&
                nc_def_var(file, "v", NC_INT, 1, &x, &v) == NC_NOERR && nc_enddef(file) == NC_NOERR,
            "cannot define", name);
    require(nc_put_vara_int(file, v, &begin, &part, values) == NC_NOERR, "cannot write", name);
    require(nc_close(file) == NC_NOERR, "cannot close", name);
    return;
  }
#endif
  require(0, "no such form:", form);
}

static void write_text(const char* name, const char* mode, const char* text) {
  FILE* const file = fopen(name, mode);
  require(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "cannot write", name);
}

/* One rank begins a file, all change it, and another one goes on. */
static void update(const char* form) {
  (void)form;
  if (rank == 0) write_text("base.w", "w", "the beginning\n");
  MPI_Barrier(MPI_COMM_WORLD);
  fill(0);
  write_raw(MPI_COMM_WORLD, "base.w", MPI_MODE_RDWR, 1000 + rank * (MPI_Offset)sizeof values);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == ranks - 1) write_text("base.w", "a", "the end\n");
}

/* Each rank writes a file of its own. */
static void own(void) {
  char name[32];
  snprintf(name, sizeof name, "own%d.w", rank);
  fill(0);
  write_raw(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, 0);
}

/* A rank is killed while all have the file open. */
static void killed(void) {
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, "half.w", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) ==
              MPI_SUCCESS,
          "cannot open", "half.w");
  MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof values, values, count, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == ranks - 1) raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
}

/* All ranks fail to open the same file. */
static void refused(void) {
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, "none.w", MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS,
          "opens", "none.w");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char *const form = argv[1], *const mode = argv[2];
  char name[32];
  for (int step = 0; step < 3 && strcmp(mode, "files") == 0; ++step) {
    snprintf(name, sizeof name, "all%d.w", step);
    write_whole(form, name, step);
  }
  for (int step = 0; step < 3 && strcmp(mode, "again") == 0; ++step) write_whole(form, "again.w", step);
  if (strcmp(mode, "update") == 0) update(form);
  if (strcmp(mode, "own") == 0) own();
  if (strcmp(mode, "killed") == 0) killed();
  if (strcmp(mode, "refused") == 0) refused();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fclose(fopen("done", "w"));
  MPI_Finalize();
  return 0;
}
