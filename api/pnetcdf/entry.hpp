#pragma once
// The entries that the generated thunks of the ncmpi_* data functions call. These entries contain all logic.
#include <mpi.h>

namespace sluice::api {

enum class Verb { put, get, iput, iget, bput };
enum class Shape { var, var1, vara, vars, varm, varn };

/// The user's arguments of one data function, unchecked. Unused members keep their defaults. Typed functions
/// (…_int) set `buffer_type` to the type's MPI datatype and leave `is_flexible` false; buffer_count is then
/// ignored.
struct AccessCall {
  Verb verb = Verb::put;
  Shape shape = Shape::var;
  bool is_collective = false;  ///< name ends in _all; false for i/b verbs
  bool is_flexible = false;
  int ncid = -1;
  int varid = -1;
  const MPI_Offset* start = nullptr;
  const MPI_Offset* count = nullptr;
  const MPI_Offset* stride = nullptr;
  const MPI_Offset* imap = nullptr;
  int list_length = 0;                  ///< varn
  MPI_Offset* const* starts = nullptr;  ///< varn
  MPI_Offset* const* counts = nullptr;  ///< varn; may be null: all counts 1
  void* buffer = nullptr;               ///< a put does not write to it (unless the in-place hint allows it)
  MPI_Offset buffer_count =
      -1;  ///< flexible: number of buffer_type; NC_COUNT_IGNORE (-1) where buffer_type is a predefined type
  MPI_Datatype buffer_type = MPI_DATATYPE_NULL;
  int* request = nullptr;  ///< iput, iget, bput
};

/// Performs the call and returns its NC_* status. Guarded: no exception leaves this function.
int access(const AccessCall& call) noexcept;

/// One call of an mput or mget function: one access to each of `variables` variables. Typed functions set
/// `buffer_type`; flexible functions set `buffer_counts` and `buffer_types`.
struct MultiAccessCall {
  Verb verb = Verb::put;  ///< put or get
  Shape shape = Shape::var;
  bool is_collective = false;
  int ncid = -1;
  int variables = 0;
  const int* varids = nullptr;
  MPI_Offset* const* starts = nullptr;
  MPI_Offset* const* counts = nullptr;
  MPI_Offset* const* strides = nullptr;
  MPI_Offset* const* imaps = nullptr;
  const void* buffers = nullptr;  ///< array of pointers to the users' buffers, of any type
  MPI_Datatype buffer_type = MPI_DATATYPE_NULL;
  const MPI_Offset* buffer_counts = nullptr;
  const MPI_Datatype* buffer_types = nullptr;
};

/// Performs the call like access().
int multi_access(const MultiAccessCall& call) noexcept;

/// One call of a vard function: `file_type` selects the part of the variable.
struct DatatypeAccessCall {
  Verb verb = Verb::put;  ///< put or get
  bool is_collective = false;
  int ncid = -1;
  int varid = -1;
  MPI_Datatype file_type = MPI_DATATYPE_NULL;
  void* buffer = nullptr;
  MPI_Offset buffer_count = -1;
  MPI_Datatype buffer_type = MPI_DATATYPE_NULL;
};

/// Performs the call like access().
int datatype_access(const DatatypeAccessCall& call) noexcept;

}  // namespace sluice::api
