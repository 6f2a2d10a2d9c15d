#pragma once
// What the generated thunks of the ncmpi_* data functions call. All logic is behind these few entries.
#include <mpi.h>

namespace sluice::api {

enum class Verb { put, get, iput, iget, bput };
enum class Shape { var, var1, vara, vars, varm, varn };

/// One call of a data function, as the user made it; nothing has been checked. Unused members keep their
/// defaults. Typed functions (…_int) set `buffer_type` to the type's MPI datatype and leave `is_flexible`
/// false: then buffer_count means nothing.
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
  void* buffer = nullptr;               ///< of a put: not written (unless the in-place hint allows it)
  MPI_Offset buffer_count =
      -1;  ///< flexible: number of buffer_type; NC_COUNT_IGNORE (-1) where buffer_type is a predefined type
  MPI_Datatype buffer_type = MPI_DATATYPE_NULL;
  int* request = nullptr;  ///< iput, iget, bput
};

/// Guarded, noexcept: performs the call, returns its NC_* status, never lets an exception out.
int access(const AccessCall& call) noexcept;

/// One call of an mput or mget function: one access to each of `variables` variables. Typed functions set
/// `buffer_type`, flexible ones `buffer_counts` and `buffer_types`.
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
  const void* buffers = nullptr;  ///< array of pointers to the users' buffers, of whatever type they are
  MPI_Datatype buffer_type = MPI_DATATYPE_NULL;
  const MPI_Offset* buffer_counts = nullptr;
  const MPI_Datatype* buffer_types = nullptr;
};

/// Guarded, noexcept: as access().
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

/// Guarded, noexcept: as access().
int datatype_access(const DatatypeAccessCall& call) noexcept;

}  // namespace sluice::api
