/* The interface of libsluice_hdf5.so, which the rest of Sluice loads on first use. It is plain C, so that
 * neither side needs the other's C++ library. All functions return 0; on failure they write a text with the
 * cause and return the errno of the system, or -1. One thread at a time (hdf5_mutex). */
#ifndef SLUICE_HDF5_INTERFACE_H
#define SLUICE_HDF5_INTERFACE_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both sides must have the same version. */
#define SLUICE_HDF5_INTERFACE_VERSION 2

/* NOLINTBEGIN(readability-identifier-naming): names of C */
/* A file of two datasets of bytes, header_blob and data_blob. */
struct sluice_hdf5_file {
  const char* path;
  const void* comm;      /* MPI_Comm*: the processes that write the file */
  const void* info;      /* MPI_Info* */
  const void* header;    /* on the communicator's rank 0 */
  uint64_t header_bytes; /* the same on all ranks */
  const void* data;      /* this rank's part of data_blob */
  uint64_t data_begin;   /* position of this part in data_blob */
  uint64_t data_bytes;
  uint64_t all_bytes; /* of data_blob; the same on all ranks */
};

/* The positions of the two datasets in a file, in bytes. */
struct sluice_hdf5_places {
  uint64_t header_offset, header_bytes;
  uint64_t data_offset, data_bytes;
};

struct sluice_hdf5_interface {
  /* Why this process cannot use the library; null if it can. */
  const char* mistake;
  /* Collective: creates the file, replaces an existing one, and writes in one collective call. */
  int (*write)(const struct sluice_hdf5_file* file, char* what, size_t what_bytes);
  /* Called by one process, without MPI. */
  int (*locate)(const char* path, struct sluice_hdf5_places* places, char* what, size_t what_bytes);
};

/* NOLINTEND(readability-identifier-naming) */

/* The exported function. It returns null for another version. */
typedef const struct sluice_hdf5_interface* (*sluice_hdf5_function)(int version);
#define SLUICE_HDF5_FUNCTION "sluice_hdf5"

#ifdef __cplusplus
}
#endif
#endif
