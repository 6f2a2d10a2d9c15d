#define _GNU_SOURCE
#include "client_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLUICE_EXPORT __attribute__((visibility("default")))

/// Only an MPI library itself defines this function; tools that watch a program define MPI_Init alone.
static const char* const mpi_function = "PMPI_Init";
static const char* const library_of_open_mpi = "libsluice_pnetcdf.so";
static const char* const library_of_mpich = "libsluice_pnetcdf_mpich.so";
static const char* const library_without_mpi = "libsluice_netcdf.so";

enum { most_candidates = 16 };

/// Loaded libraries that may be an MPI, by their paths.
struct candidates {
  int count;
  char paths[most_candidates][PATH_MAX];
};

static int add_candidate(struct dl_phdr_info* library, size_t size, void* list) {
  struct candidates* const found = list;
  const char* const slash = strrchr(library->dlpi_name, '/');
  const char* const name = slash == NULL ? library->dlpi_name : slash + 1;
  (void)size;
  if (strstr(name, "mpi") == NULL || strncmp(name, "libsluice_", 10) == 0) return 0;
  if (found->count < most_candidates && strlen(library->dlpi_name) < PATH_MAX)
    strcpy(found->paths[found->count++], library->dlpi_name);
  return 0;
}

/// The MPI that an extension of an interpreter has brought along, such as mpi4py. It becomes visible to the
/// client library, which looks for MPI's functions among all that is visible.
static void* hidden_mpi(void) {
  struct candidates* const found = calloc(1, sizeof *found);
  void* mpi = NULL;
  if (found == NULL) return NULL;
  dl_iterate_phdr(add_candidate, found);
  for (int i = 0; i < found->count && mpi == NULL; ++i) {
    void* const library = dlopen(found->paths[i], RTLD_LAZY | RTLD_NOLOAD);
    Dl_info owner;
    if (library == NULL) continue;
    void* const function = dlsym(library, mpi_function);
    if (function != NULL && dladdr(function, &owner) != 0)
      mpi = dlopen(owner.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    dlclose(library);
  }
  free(found);
  return mpi;
}

/// The MPI that the program, or a library of it, is linked with.
static void* linked_mpi(void) {
  Dl_info owner;
  void* const function = dlsym(RTLD_DEFAULT, mpi_function);
  if (function == NULL || dladdr(function, &owner) == 0) return NULL;
  void* const library = dlopen(owner.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library == NULL ? RTLD_DEFAULT : library;  // the program itself contains MPI
}

/// Whether the MPI has Open MPI's binary interface, or MPICH's.
static int is_open_mpi(void* mpi) {
  return dlsym(mpi, "ompi_mpi_comm_world") != NULL;
}

/// The path of the library of that name beside this one. Returns whether it is there.
static int find_beside(const char* name, char path[PATH_MAX]) {
  Dl_info own;
  char real[PATH_MAX];
  if (dladdr((void*)&sluice_open_client_library, &own) == 0 || realpath(own.dli_fname, real) == NULL)
    return 0;
  char* const slash = strrchr(real, '/');
  if (slash == NULL) return 0;
  *slash = '\0';
  char wanted[PATH_MAX + 64];
  snprintf(wanted, sizeof wanted, "%s/%s", real, name);
  return realpath(wanted, path) != NULL;
}

void* sluice_open_client_library(const char** problem) {
  static char text[2 * PATH_MAX];
  char path[PATH_MAX];
  void* const linked = linked_mpi();
  void* const hidden = linked == NULL ? hidden_mpi() : NULL;
  const int has_mpi = linked != NULL || hidden != NULL;
  const int is_mpich = has_mpi && !is_open_mpi(linked != NULL ? linked : hidden);
  const char* const name = is_mpich ? library_of_mpich : library_of_open_mpi;
  *problem = text;
  if (!find_beside(name, path)) {
    snprintf(text, sizeof text,
             "the program has %s, but this Sluice has no %s: install that MPI with its headers (Debian: %s), "
             "and build "
             "Sluice again",
             is_mpich ? "an MPI with MPICH's interface" : "Open MPI", name,
             is_mpich ? "libmpich-dev" : "libopenmpi-dev");
    return NULL;
  }
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == NULL) {
    const char* const reason = dlerror();
    snprintf(text, sizeof text, "%s cannot be loaded: %s", path, reason == NULL ? "unknown reason" : reason);
  }
  return library;
}

static int is_mpi_initialized(void) {
  int (*const inquire)(int*) = (int (*)(int*))dlsym(RTLD_DEFAULT, "MPI_Initialized");
  int (*const inquire_end)(int*) = (int (*)(int*))dlsym(RTLD_DEFAULT, "MPI_Finalized");
  int is_initialized = 0, is_finalized = 0;
  if (inquire == NULL || inquire(&is_initialized) != 0) return 0;
  if (inquire_end != NULL) inquire_end(&is_finalized);
  return is_initialized && !is_finalized;
}

static char serves_without_mpi;

SLUICE_EXPORT int sluice_serves_netcdf(void) {
  return __atomic_load_n(&serves_without_mpi, __ATOMIC_RELAXED);
}

void* sluice_open_netcdf_library(void) {
  const char* problem = "";
  char path[PATH_MAX];
  if (is_mpi_initialized()) return sluice_open_client_library(&problem);
  if (!find_beside(library_without_mpi, path)) return NULL;
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == NULL) return NULL;
  sluice_use_for_files(library);
  __atomic_store_n(&serves_without_mpi, 1, __ATOMIC_RELAXED);
  return library;
}
