/* The functions of netCDF-C by which programs find datasets. With `netcdf: bytes` in all rules, and for
   datasets that are not coupled, the program's own netCDF is called, which nothing here is linked with. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_library.h"
#include "netcdf_calls.h"

#define SLUICE_EXPORT __attribute__((visibility("default")))

enum { is_out_of_range = -60 }; /* NC_ERANGE */
enum { is_not_there = -128 };   /* NC_ENOTBUILT: the program has no netCDF */

typedef void (*function)(void);
typedef int (*finder)(const struct sluice_netcdf_call*);

/* The netCDF library that a call of this thread has gone to. netCDF calls itself by the names of its
   functions, so such calls come here again: they go on to the same library. */
static __thread void* library_in_use;

struct loaded_object {
  int before; /* how many others come before it */
  char path[4096];
};

/* For dl_iterate_phdr. */
static int copy_path(struct dl_phdr_info* object, size_t size, void* wanted) {
  struct loaded_object* const found = wanted;
  (void)size;
  if (found->before-- > 0) return 0;
  snprintf(found->path, sizeof found->path, "%s", object->dlpi_name);
  return 1;
}

/* The first object of the process, in the order of loading, that has the function, or that is linked with
   what has it. */
static function function_of_any(const char* name, const void* own) {
  for (int before = 0;; ++before) {
    struct loaded_object object = {before, ""};
    if (dl_iterate_phdr(copy_path, &object) == 0) return NULL;
    void* const handle = object.path[0] == '\0' ? NULL : dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD);
    function const found = handle == NULL ? NULL : (function)dlsym(handle, name);
    if (handle != NULL) dlclose(handle);
    if (found != NULL && (const void*)found != own) return found;
  }
}

/* The function of that name that the calling code would have without this library: in what the caller is
   linked with, which need not be visible to others (an extension of an interpreter); else in what comes next;
   else anywhere, because an interpreter's code that calls functions by their addresses is linked with
   nothing. Sets *library to where the other functions are, or to NULL. */
static function function_of_caller(const void* caller, const char* name, const void* own, void** library) {
  Dl_info place;
  *library = library_in_use;
  if (*library == NULL && dladdr(caller, &place) != 0)
    *library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (*library != NULL) {
    function const found = (function)dlsym(*library, name);
    if (found != NULL && (const void*)found != own) return found;
  }
  *library = NULL;
  function next = (function)dlsym(RTLD_NEXT, name);
  if (next == NULL) next = function_of_any(name, own);
  if (next != NULL && dladdr((const void*)next, &place) != 0)
    *library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return next;
}

/* Of a call of one of the functions here: where the calling code is, and what the call is for; the function
   that was found for it, and the library. */
enum { of_caller, of_own, of_real, of_library, facts_of_caller };
typedef void* known_caller[facts_of_caller];

/* To find the function takes some microseconds, so it is done once for each caller. What is known stays, and
   with it the libraries, which the handles keep loaded. */
static function find_real(const void* caller, const char* name, const void* own, void** library) {
  enum { places = 256 };
  static known_caller* known[places];
  known_caller** const place = &known[((uintptr_t)caller >> 2) % places];
  known_caller* const before = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (library_in_use == NULL && before != NULL && (*before)[of_caller] == caller &&
      (*before)[of_own] == own) {
    *library = (*before)[of_library];
    return (function)(*before)[of_real];
  }
  function const real = function_of_caller(caller, name, own, library);
  if (library_in_use != NULL || before != NULL || real == NULL) return real;
  known_caller* const made = malloc(sizeof *made);
  known_caller* expected = NULL;
  if (made == NULL) return real;
  (*made)[of_caller] = (void*)caller;
  (*made)[of_own] = (void*)own;
  (*made)[of_real] = (void*)real;
  (*made)[of_library] = *library;
  if (!__atomic_compare_exchange_n(place, &expected, made, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) free(made);
  return real;
}

/* Whether one of the rules has hyperslabs: the letter h between the first two tabulators of its line. */
static int has_rule_of_hyperslabs(const char* rules) {
  while (rules != NULL && *rules != '\0') {
    const char* const line = rules;
    const char* const access = strchr(line, '\t');
    const char* const end = access == NULL ? NULL : strchr(access + 1, '\t');
    if (end != NULL && memchr(access, 'h', (size_t)(end - access)) != NULL) return 1;
    rules = strchr(line, '\n');
    if (rules != NULL) ++rules;
  }
  return 0;
}

/* SLUICE_NETCDF=bytes in a component's environment turns hyperslabs off for it. */
static int is_wanted(void) {
  static int known = -1; /* all threads find the same */
  int wanted = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (wanted >= 0) return wanted;
  const char* const setting = getenv("SLUICE_NETCDF");
  wanted = (setting == NULL || strcmp(setting, "bytes") != 0) && getenv("SLUICE_SOCKET") != NULL &&
           has_rule_of_hyperslabs(getenv("SLUICE_RULES"));
  __atomic_store_n(&known, wanted, __ATOMIC_RELAXED);
  return wanted;
}

static finder known_finder;

/* Loading the client library costs milliseconds, so it is done when a path needs it. */
static finder client(int has_group) {
  finder found = __atomic_load_n(&known_finder, __ATOMIC_ACQUIRE);
  if (found != NULL) return found;
  const char* problem = "";
  void* const library = has_group ? sluice_open_client_library(&problem) : sluice_open_netcdf_library();
  if (library == NULL) return NULL;
  found = (finder)dlsym(library, "sluice_netcdf");
  __atomic_store_n(&known_finder, found, __ATOMIC_RELEASE);
  return found;
}

static int ask(struct sluice_netcdf_call* call) {
  const int has_group = call->group != sluice_netcdf_alone;
  const finder find = client(has_group);
  /* A process that had datasets before MPI_Init goes on with the library without MPI. */
  if (find == NULL || (has_group && sluice_serves_netcdf())) return sluice_netcdf_is_ordinary;
  library_in_use = call->library;
  const int status = find(call);
  library_in_use = NULL;
  return status;
}

/* Sets `real`, the program's own function of the name, and `library`, where its other functions are. */
#define SLUICE_FIND_REAL(name)   \
  void* library;                 \
  __typeof__(&name) const real = \
      (__typeof__(&name))find_real(__builtin_return_address(0), #name, (const void*)&name, &library)

static int found_coupled(struct sluice_netcdf_call call, int* status) {
  if (library_in_use != NULL || call.library == NULL || !is_wanted()) return 0;
  *status = ask(&call);
  return *status != sluice_netcdf_is_ordinary;
}

/* One call of a group: coupled, or as the program's own netCDF does it. */
#define SLUICE_FIND_IN_GROUP(name, kind, group, comm, info, ...)                                           \
  SLUICE_FIND_REAL(name);                                                                                  \
  int status;                                                                                              \
  void* const before = library_in_use;                                                                     \
  const struct sluice_netcdf_call call = {kind, library, path, mode, ncid, NULL, NULL, group, comm, info}; \
  if (!found_coupled(call, &status)) {                                                                     \
    library_in_use = library;                                                                              \
    status = real == NULL ? is_not_there : real(__VA_ARGS__);                                              \
    library_in_use = before;                                                                               \
  }                                                                                                        \
  return status

#define SLUICE_FIND(name, kind, ...) \
  SLUICE_FIND_IN_GROUP(name, kind, sluice_netcdf_alone, NULL, NULL, __VA_ARGS__)

SLUICE_EXPORT int nc_create(const char* path, int mode, int* ncid) {
  SLUICE_FIND(nc_create, sluice_netcdf_create, path, mode, ncid);
}

SLUICE_EXPORT int nc__create(const char* path, int mode, size_t size, size_t* buffer, int* ncid) {
  SLUICE_FIND(nc__create, sluice_netcdf_create, path, mode, size, buffer, ncid);
}

SLUICE_EXPORT int nc_open(const char* path, int mode, int* ncid) {
  SLUICE_FIND(nc_open, sluice_netcdf_open, path, mode, ncid);
}

SLUICE_EXPORT int nc__open(const char* path, int mode, size_t* buffer, int* ncid) {
  SLUICE_FIND(nc__open, sluice_netcdf_open, path, mode, buffer, ncid);
}

/* Handles of MPI are words here: MPICH's are 32 bits in a word, and nothing looks at the other half. */
typedef struct sluice_word* MPI_Comm;
typedef struct sluice_word* MPI_Info;

SLUICE_EXPORT int nc_create_par(const char* path, int mode, MPI_Comm comm, MPI_Info info, int* ncid) {
  SLUICE_FIND_IN_GROUP(nc_create_par, sluice_netcdf_create, sluice_netcdf_of_c, comm, info, path, mode, comm,
                       info, ncid);
}

SLUICE_EXPORT int nc_open_par(const char* path, int mode, MPI_Comm comm, MPI_Info info, int* ncid) {
  SLUICE_FIND_IN_GROUP(nc_open_par, sluice_netcdf_open, sluice_netcdf_of_c, comm, info, path, mode, comm,
                       info, ncid);
}

static const void* word_of(int handle) {
  return (const void*)(intptr_t)handle;
}

SLUICE_EXPORT int nc_create_par_fortran(const char* path, int mode, int comm, int info, int* ncid) {
  SLUICE_FIND_IN_GROUP(nc_create_par_fortran, sluice_netcdf_create, sluice_netcdf_of_fortran, word_of(comm),
                       word_of(info), path, mode, comm, info, ncid);
}

SLUICE_EXPORT int nc_open_par_fortran(const char* path, int mode, int comm, int info, int* ncid) {
  SLUICE_FIND_IN_GROUP(nc_open_par_fortran, sluice_netcdf_open, sluice_netcdf_of_fortran, word_of(comm),
                       word_of(info), path, mode, comm, info, ncid);
}

SLUICE_EXPORT int nc_inq_path(int ncid, size_t* length, char* path) {
  SLUICE_FIND_REAL(nc_inq_path);
  const finder find = __atomic_load_n(&known_finder, __ATOMIC_ACQUIRE);
  struct sluice_netcdf_call call = {
      .kind = sluice_netcdf_path, .library = library, .ncid = &ncid, .length = length, .text = path};
  const int status = find == NULL ? sluice_netcdf_is_ordinary : find(&call);
  if (status != sluice_netcdf_is_ordinary) return status;
  return real == NULL ? is_not_there : real(ncid, length, path);
}

/* The functions below look at netCDF's own records, as it has them of its own formats, and not at the table
   of the dataset's format. So they get the shadow, or go by functions that do look there. */
static int id_of_shadow(void* library, int ncid) {
  const finder find = __atomic_load_n(&known_finder, __ATOMIC_ACQUIRE);
  struct sluice_netcdf_call call = {.kind = sluice_netcdf_shadow, .library = library, .ncid = &ncid};
  if (find != NULL) (void)find(&call);
  return ncid;
}

#define SLUICE_OF_SHADOW(name, ...) \
  SLUICE_FIND_REAL(name);           \
  return real == NULL ? is_not_there : real(id_of_shadow(library, ncid), __VA_ARGS__)

SLUICE_EXPORT int nc_reclaim_data(int ncid, int type, void* values, size_t count) {
  SLUICE_OF_SHADOW(nc_reclaim_data, type, values, count);
}

SLUICE_EXPORT int nc_reclaim_data_all(int ncid, int type, void* values, size_t count) {
  SLUICE_OF_SHADOW(nc_reclaim_data_all, type, values, count);
}

SLUICE_EXPORT int nc_copy_data(int ncid, int type, const void* values, size_t count, void* copy) {
  SLUICE_OF_SHADOW(nc_copy_data, type, values, count, copy);
}

SLUICE_EXPORT int nc_copy_data_all(int ncid, int type, const void* values, size_t count, void** copy) {
  SLUICE_OF_SHADOW(nc_copy_data_all, type, values, count, copy);
}

SLUICE_EXPORT int nc_set_var_chunk_cache_ints(int ncid, int variable, int mebibytes, int chunks,
                                              int percent) {
  SLUICE_OF_SHADOW(nc_set_var_chunk_cache_ints, variable, mebibytes, chunks, percent);
}

SLUICE_EXPORT int nc_get_var_chunk_cache_ints(int ncid, int variable, int* mebibytes, int* chunks,
                                              int* percent) {
  SLUICE_OF_SHADOW(nc_get_var_chunk_cache_ints, variable, mebibytes, chunks, percent);
}

/* Called in the program's netCDF: SLUICE_OTHER(name)(…). */
int nc_inq_vartype(int ncid, int variable, int* type);
int nc_inq_varndims(int ncid, int variable, int* dimensions);
int nc_def_var_chunking(int ncid, int variable, int storage, const size_t* sizes);
int nc_inq_var_chunking(int ncid, int variable, int* storage, size_t* sizes);
#define SLUICE_OTHER(name) ((__typeof__(&name))dlsym(library, #name))

enum { first_user_type = 32, most_dimensions = 1024 }; /* netCDF's NC_FIRSTUSERTYPEID and NC_MAX_VAR_DIMS */

/* Only a user type is looked for in netCDF's own records. */
SLUICE_EXPORT int nc_def_var_filter(int ncid, int variable, unsigned filter, size_t count,
                                    const unsigned* values) {
  SLUICE_FIND_REAL(nc_def_var_filter);
  if (real == NULL) return is_not_there;
  const int shadow = id_of_shadow(library, ncid);
  int type = 0;
  if (shadow != ncid) (void)SLUICE_OTHER(nc_inq_vartype)(ncid, variable, &type);
  return real(type < first_user_type ? ncid : shadow, variable, filter, count, values);
}

SLUICE_EXPORT int nc_def_var_chunking_ints(int ncid, int variable, int storage, int* sizes) {
  SLUICE_FIND_REAL(nc_def_var_chunking_ints);
  if (real == NULL) return is_not_there;
  if (id_of_shadow(library, ncid) == ncid) return real(ncid, variable, storage, sizes);
  int dimensions = 0;
  const int status = SLUICE_OTHER(nc_inq_varndims)(ncid, variable, &dimensions);
  if (status != 0) return status;
  size_t wide[most_dimensions];
  for (int i = 0; sizes != NULL && i < dimensions; ++i) wide[i] = (size_t)sizes[i];
  return SLUICE_OTHER(nc_def_var_chunking)(ncid, variable, storage, sizes == NULL ? NULL : wide);
}

SLUICE_EXPORT int nc_inq_var_chunking_ints(int ncid, int variable, int* storage, int* sizes) {
  SLUICE_FIND_REAL(nc_inq_var_chunking_ints);
  if (real == NULL) return is_not_there;
  if (id_of_shadow(library, ncid) == ncid) return real(ncid, variable, storage, sizes);
  int dimensions = 0, found = 0;
  size_t wide[most_dimensions];
  int status = SLUICE_OTHER(nc_inq_varndims)(ncid, variable, &dimensions);
  if (status == 0) status = SLUICE_OTHER(nc_inq_var_chunking)(ncid, variable, &found, wide);
  if (status != 0) return status;
  if (storage != NULL) *storage = found;
  for (int i = 0; sizes != NULL && found == 0 && i < dimensions; ++i) {
    if (wide[i] > INT_MAX) status = is_out_of_range;
    sizes[i] = (int)wide[i];
  }
  return status;
}
