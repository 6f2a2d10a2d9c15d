/* What libsluice_hdf5.so offers to the rest of Sluice, which loads it when it is first needed: plain C, so
 * that neither side needs the other's C++ library. All functions return 0; or, with a text of what was wrong,
 * the system's error number or -1. One thread at a time (hdf5_mutex). */
#ifndef SLUICE_HDF5_INTERFACE_H
#define SLUICE_HDF5_INTERFACE_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both sides must have the same. */
#define SLUICE_HDF5_INTERFACE_VERSION 2

/* NOLINTBEGIN(readability-identifier-naming): names of C */
/* A file of two datasets of bytes, header_blob and data_blob. */
struct sluice_hdf5_file {
  const char* path;
  const void* comm;      /* MPI_Comm*: those that write it */
  const void* info;      /* MPI_Info* */
  const void* header;    /* of the communicator's rank 0 */
  uint64_t header_bytes; /* the same on all ranks */
  const void* data;      /* this rank's part of data_blob */
  uint64_t data_begin;   /* where it is */
  uint64_t data_bytes;
  uint64_t all_bytes; /* of data_blob; the same on all ranks */
};

/* Where the bytes of the two datasets are in a file. */
struct sluice_hdf5_places {
  uint64_t header_offset, header_bytes;
  uint64_t data_offset, data_bytes;
};

struct sluice_hdf5_interface {
  /* Why it cannot be used in this process; null where it can. */
  const char* mistake;
  /* Collective: creates the file, replaces one that is there; one collective write. */
  int (*write)(const struct sluice_hdf5_file* file, char* what, size_t what_bytes);
  /* Of one process, without MPI. */
  int (*locate)(const char* path, struct sluice_hdf5_places* places, char* what, size_t what_bytes);
};

/* NOLINTEND(readability-identifier-naming) */

/* The symbol that is looked up. Null where the version is another. */
typedef const struct sluice_hdf5_interface* (*sluice_hdf5_function)(int version);
#define SLUICE_HDF5_FUNCTION "sluice_hdf5"

#ifdef __cplusplus
}
#endif
#endif
