#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)
#include "dtf.h"
#pragma GCC visibility pop

/* Statuses of PnetCDF (docs/pnetcdf-interface.md): ncmpi_sync may have nothing to do. */
enum { nc_ebadid = -33, nc_eperm = -37, nc_eindefine = -39, nc_enomem = -61 };
enum { success = 0, bad_argument = 1 };

typedef int (*sync_function)(int ncid);
typedef int (*files_opened_function)(int* count, int* ncids);

/* A function of the PnetCDF that the program has, Sluice's in a run; null when it has none. The library is
 * not linked: it is to be the program's. */
static void* pnetcdf_function(const char* name) {
  return dlsym(RTLD_DEFAULT, name);
}

static int is_in_run(void) {
  return getenv("SLUICE_SOCKET") != NULL;
}

/* A Fortran text is at least as long as its first character, which is a blank where it is empty. */
static int is_text(const char* text) {
  return text != NULL && *text != '\0' && *text != ' ';
}

/* Under `publish: sync` a writer publishes by this, and a reader learns of new records. */
static int sync_file(int ncid) {
  sync_function sync;
  void* const found = pnetcdf_function("ncmpi_sync");
  int status;
  if (found == NULL) return success;
  memcpy(&sync, &found, sizeof sync); /* as POSIX has it for dlsym */
  status = sync(ncid);
  return status == nc_ebadid || status == nc_eperm || status == nc_eindefine ? success : status;
}

int dtf_init(const char* filename, char* module_name) {
  return is_text(filename) && is_text(module_name) ? success : bad_argument;
}

int dtf_finalize(void) {
  return success;
}

int dtf_transfer(const char* filename, int ncid) {
  if (!is_text(filename)) return bad_argument;
  return ncid < 0 || !is_in_run() ? success : sync_file(ncid);
}

int dtf_transfer_all_files(void) {
  files_opened_function files_opened;
  void* const found = pnetcdf_function("ncmpi_inq_files_opened");
  int count = 0, first_error = success;
  int* ncids;
  if (!is_in_run() || found == NULL) return success;
  memcpy(&files_opened, &found, sizeof files_opened);
  if (files_opened(&count, NULL) != 0 || count <= 0) return success;
  ncids = malloc((size_t)count * sizeof *ncids);
  if (ncids == NULL) return nc_enomem;
  if (files_opened(&count, ncids) != 0) count = 0;
  for (int i = 0; i < count; ++i) {
    const int status = sync_file(ncids[i]);
    if (first_error == success) first_error = status;
  }
  free(ncids);
  return first_error;
}

void dtf_transfer_multiple(const char* filename, int ncid) {
  (void)dtf_transfer(filename, ncid);
}

void dtf_complete_multiple(const char* filename, int ncid) {
  (void)filename;
  (void)ncid;
}

void dtf_time_start(void) {}

void dtf_time_end(void) {}
