#pragma once
#define SLUICE_ONE_PROCESS 1
// The part of MPI that the rooms of api/ call, for a process that has no MPI: every communicator is a group
// of one. Messages and MPI-IO are refused, because a group of one that uses datasets in memory needs neither.
// Nothing of it is visible outside of the library that is built with it.
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>

using MPI_Comm = int;
using MPI_Info = int;
using MPI_File = int;
using MPI_Group = int;
using MPI_Message = int;
using MPI_Request = int;
using MPI_Errhandler = int;
using MPI_Op = int;
using MPI_Fint = int;
using MPI_Aint = long;
using MPI_Offset = long long;
struct MPI_Status {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
};
/// A datatype is its size in the low byte, and a number that tells it from others of that size.
using MPI_Datatype = int;

inline constexpr MPI_Comm MPI_COMM_NULL = 0, MPI_COMM_WORLD = 1, MPI_COMM_SELF = 2;
inline constexpr MPI_Info MPI_INFO_NULL = 0;
inline constexpr MPI_File MPI_FILE_NULL = 0;
inline constexpr MPI_Group MPI_GROUP_NULL = 0;
inline constexpr MPI_Message MPI_MESSAGE_NULL = 0;
inline constexpr MPI_Request MPI_REQUEST_NULL = 0;
inline constexpr MPI_Errhandler MPI_ERRORS_RETURN = 1;
inline constexpr int MPI_KEYVAL_INVALID = -1, MPI_UNDEFINED = -32766;
inline MPI_Status* const MPI_STATUS_IGNORE = nullptr;
inline MPI_Status* const MPI_STATUSES_IGNORE = nullptr;
inline void* const MPI_BOTTOM = nullptr;
inline void* const MPI_IN_PLACE = reinterpret_cast<void*>(std::intptr_t{-1});

inline constexpr int MPI_MAX_ERROR_STRING = 64, MPI_MAX_INFO_KEY = 36, MPI_MAX_PROCESSOR_NAME = 64;
inline constexpr int MPI_THREAD_SINGLE = 0, MPI_THREAD_MULTIPLE = 3;
inline constexpr int MPI_COMM_TYPE_SHARED = 1;
inline constexpr MPI_Op MPI_MAX = 1, MPI_MIN = 2, MPI_SUM = 3, MPI_BOR = 4;
inline constexpr int MPI_MODE_CREATE = 1, MPI_MODE_RDONLY = 2, MPI_MODE_RDWR = 8, MPI_MODE_EXCL = 64;

inline constexpr int MPI_SUCCESS = 0, MPI_ERR_UNKNOWN = 13, MPI_ERR_ACCESS = 20, MPI_ERR_AMODE = 21,
                     MPI_ERR_BAD_FILE = 22, MPI_ERR_FILE_EXISTS = 25, MPI_ERR_NO_MEM = 34,
                     MPI_ERR_NOT_SAME = 35, MPI_ERR_NO_SPACE = 36, MPI_ERR_NO_SUCH_FILE = 37,
                     MPI_ERR_QUOTA = 39, MPI_ERR_READ_ONLY = 40, MPI_ERR_UNSUPPORTED_OPERATION = 44;

namespace sluice::one_process {
constexpr MPI_Datatype datatype(int number, std::size_t bytes) {
  return number << 8 | static_cast<int>(bytes);
}
constexpr std::size_t bytes_of(MPI_Datatype type, int count) {
  return static_cast<std::size_t>(type & 255) * static_cast<std::size_t>(count);
}
/// A group of one receives what it has sent.
inline int give(const void* sent, void* received, int count, MPI_Datatype type) {
  if (sent != MPI_IN_PLACE && sent != received && count > 0)
    std::memcpy(received, sent, bytes_of(type, count));
  return MPI_SUCCESS;
}
}  // namespace sluice::one_process

inline constexpr MPI_Datatype MPI_DATATYPE_NULL = 0;
#define SLUICE_DATATYPE(name, number, c_type) \
  inline constexpr MPI_Datatype name = sluice::one_process::datatype(number, sizeof(c_type));
SLUICE_DATATYPE(MPI_CHAR, 1, char)
SLUICE_DATATYPE(MPI_SIGNED_CHAR, 2, char)
SLUICE_DATATYPE(MPI_UNSIGNED_CHAR, 3, char)
SLUICE_DATATYPE(MPI_BYTE, 4, char)
SLUICE_DATATYPE(MPI_SHORT, 5, short)
SLUICE_DATATYPE(MPI_UNSIGNED_SHORT, 6, short)
SLUICE_DATATYPE(MPI_INT, 7, int)
SLUICE_DATATYPE(MPI_UNSIGNED, 8, int)
SLUICE_DATATYPE(MPI_LONG, 9, long)
SLUICE_DATATYPE(MPI_UNSIGNED_LONG, 10, long)
SLUICE_DATATYPE(MPI_LONG_LONG_INT, 11, long long)
SLUICE_DATATYPE(MPI_UNSIGNED_LONG_LONG, 12, long long)
SLUICE_DATATYPE(MPI_FLOAT, 13, float)
SLUICE_DATATYPE(MPI_DOUBLE, 14, double)
SLUICE_DATATYPE(MPI_INT64_T, 15, std::int64_t)
SLUICE_DATATYPE(MPI_UINT64_T, 16, std::uint64_t)
SLUICE_DATATYPE(MPI_CHARACTER, 17, char)
SLUICE_DATATYPE(MPI_INTEGER, 18, int)
SLUICE_DATATYPE(MPI_INTEGER1, 19, std::int8_t)
SLUICE_DATATYPE(MPI_INTEGER2, 20, std::int16_t)
SLUICE_DATATYPE(MPI_INTEGER4, 21, std::int32_t)
SLUICE_DATATYPE(MPI_INTEGER8, 22, std::int64_t)
SLUICE_DATATYPE(MPI_REAL, 23, float)
SLUICE_DATATYPE(MPI_REAL4, 24, float)
SLUICE_DATATYPE(MPI_REAL8, 25, double)
SLUICE_DATATYPE(MPI_DOUBLE_PRECISION, 26, double)
#undef SLUICE_DATATYPE

/// All datatypes are predefined: the other kinds exist so that the code that takes them apart compiles.
enum {
  MPI_COMBINER_NAMED = 1,
  MPI_COMBINER_DUP,
  MPI_COMBINER_CONTIGUOUS,
  MPI_COMBINER_VECTOR,
  MPI_COMBINER_HVECTOR,
  MPI_COMBINER_INDEXED,
  MPI_COMBINER_HINDEXED,
  MPI_COMBINER_INDEXED_BLOCK,
  MPI_COMBINER_HINDEXED_BLOCK,
  MPI_COMBINER_STRUCT,
  MPI_COMBINER_SUBARRAY,
  MPI_COMBINER_DARRAY,
  MPI_COMBINER_F90_REAL,
  MPI_COMBINER_F90_COMPLEX,
  MPI_COMBINER_F90_INTEGER,
  MPI_COMBINER_RESIZED
};
inline constexpr int MPI_ORDER_C = 56, MPI_DISTRIBUTE_NONE = 1, MPI_DISTRIBUTE_BLOCK = 2,
                     MPI_DISTRIBUTE_CYCLIC = 3, MPI_DISTRIBUTE_DFLT_DARG = -1;

inline int MPI_Initialized(int* flag) {
  return *flag = 1, MPI_SUCCESS;
}
inline int MPI_Finalized(int* flag) {
  return *flag = 0, MPI_SUCCESS;
}
/// So nothing is kept as an attribute of a communicator.
inline int MPI_Query_thread(int* level) {
  return *level = MPI_THREAD_MULTIPLE, MPI_SUCCESS;
}
inline int MPI_Error_class(int code, int* error_class) {
  return *error_class = code, MPI_SUCCESS;
}
inline int MPI_Error_string(int, char* text, int* length) {
  std::strcpy(text, "this process has no MPI");
  *length = static_cast<int>(std::strlen(text));
  return MPI_SUCCESS;
}
inline int MPI_Get_processor_name(char* name, int* length) {
  std::strcpy(name, "localhost");
  *length = static_cast<int>(std::strlen(name));
  return MPI_SUCCESS;
}

inline MPI_Comm MPI_Comm_f2c(MPI_Fint comm) {
  return comm;
}
inline MPI_Info MPI_Info_f2c(MPI_Fint info) {
  return info;
}
inline int MPI_Comm_rank(MPI_Comm, int* rank) {
  return *rank = 0, MPI_SUCCESS;
}
inline int MPI_Comm_size(MPI_Comm, int* size) {
  return *size = 1, MPI_SUCCESS;
}
inline int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  return *copy = comm, MPI_SUCCESS;
}
inline int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* copy, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return MPI_Comm_dup(comm, copy);
}
inline int MPI_Comm_split(MPI_Comm comm, int, int, MPI_Comm* part) {
  return MPI_Comm_dup(comm, part);
}
inline int MPI_Comm_split_type(MPI_Comm comm, int, int, MPI_Info, MPI_Comm* part) {
  return MPI_Comm_dup(comm, part);
}
inline int MPI_Comm_free(MPI_Comm* comm) {
  return *comm = MPI_COMM_NULL, MPI_SUCCESS;
}
inline int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) {
  return MPI_SUCCESS;
}
using sluice_copy_function = int(MPI_Comm, int, void*, void*, void*, int*);
using sluice_delete_function = int(MPI_Comm, int, void*, void*);
inline sluice_copy_function* const MPI_COMM_NULL_COPY_FN = nullptr;
inline int MPI_Comm_create_keyval(sluice_copy_function*, sluice_delete_function*, int* key, void*) {
  return *key = 1, MPI_SUCCESS;
}
inline int MPI_Comm_get_attr(MPI_Comm, int, void*, int* is_there) {
  return *is_there = 0, MPI_SUCCESS;
}
inline int MPI_Comm_set_attr(MPI_Comm, int, void*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  return *group = comm, MPI_SUCCESS;
}
inline int MPI_Group_free(MPI_Group* group) {
  return *group = MPI_GROUP_NULL, MPI_SUCCESS;
}
inline int MPI_Group_translate_ranks(MPI_Group, int count, const int* ranks, MPI_Group, int* others) {
  return sluice::one_process::give(ranks, others, count, MPI_INT);
}

inline int MPI_Barrier(MPI_Comm) {
  return MPI_SUCCESS;
}
inline int MPI_Bcast(void*, int, MPI_Datatype, int, MPI_Comm) {
  return MPI_SUCCESS;
}
inline int MPI_Allreduce(const void* sent, void* all, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
  return sluice::one_process::give(sent, all, count, type);
}
inline int MPI_Iallreduce(const void* sent, void* all, int count, MPI_Datatype type, MPI_Op, MPI_Comm,
                          MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return sluice::one_process::give(sent, all, count, type);
}
/// Rank 0 gets nothing.
inline int MPI_Exscan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) {
  return MPI_SUCCESS;
}
inline int MPI_Allgather(const void* sent, int count, MPI_Datatype type, void* all, int, MPI_Datatype,
                         MPI_Comm) {
  return sluice::one_process::give(sent, all, count, type);
}
inline int MPI_Allgatherv(const void* sent, int count, MPI_Datatype type, void* all, const int*,
                          const int* places, MPI_Datatype, MPI_Comm) {
  auto* const place = static_cast<std::byte*>(all) + sluice::one_process::bytes_of(type, places[0]);
  return sluice::one_process::give(sent, place, count, type);
}

inline int MPI_Test(MPI_Request*, int* is_complete, MPI_Status*) {
  return *is_complete = 1, MPI_SUCCESS;
}
inline int MPI_Wait(MPI_Request*, MPI_Status*) {
  return MPI_SUCCESS;
}
inline int MPI_Waitall(int, MPI_Request*, MPI_Status*) {
  return MPI_SUCCESS;
}
inline int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_Mprobe(int, int, MPI_Comm, MPI_Message*, MPI_Status*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_Mrecv(void*, int, MPI_Datatype, MPI_Message*, MPI_Status*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_Get_count(const MPI_Status*, MPI_Datatype, int* count) {
  return *count = 0, MPI_SUCCESS;
}

/// There are no hints: nobody can make any.
inline int MPI_Info_create(MPI_Info* info) {
  return *info = MPI_INFO_NULL, MPI_SUCCESS;
}
inline int MPI_Info_dup(MPI_Info info, MPI_Info* copy) {
  return *copy = info, MPI_SUCCESS;
}
inline int MPI_Info_free(MPI_Info* info) {
  return *info = MPI_INFO_NULL, MPI_SUCCESS;
}
inline int MPI_Info_set(MPI_Info, const char*, const char*) {
  return MPI_SUCCESS;
}
inline int MPI_Info_get_nkeys(MPI_Info, int* count) {
  return *count = 0, MPI_SUCCESS;
}
inline int MPI_Info_get_nthkey(MPI_Info, int, char*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_Info_get_valuelen(MPI_Info, const char*, int*, int* is_there) {
  return *is_there = 0, MPI_SUCCESS;
}
inline int MPI_Info_get(MPI_Info, const char*, int, char*, int* is_there) {
  return *is_there = 0, MPI_SUCCESS;
}

inline int MPI_Type_free(MPI_Datatype*) {
  return MPI_SUCCESS;
}
inline int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
  *lower = 0;
  *extent = static_cast<MPI_Aint>(sluice::one_process::bytes_of(type, 1));
  return MPI_SUCCESS;
}
inline int MPI_Type_get_envelope(MPI_Datatype, int* integers, int* addresses, int* types, int* combiner) {
  *integers = *addresses = *types = 0;
  *combiner = MPI_COMBINER_NAMED;
  return MPI_SUCCESS;
}
inline int MPI_Type_get_contents(MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

inline int MPI_File_open(MPI_Comm, const char*, int, MPI_Info, MPI_File*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_File_close(MPI_File* file) {
  return *file = MPI_FILE_NULL, MPI_SUCCESS;
}
inline int MPI_File_set_errhandler(MPI_File, MPI_Errhandler) {
  return MPI_SUCCESS;
}
inline int MPI_File_get_info(MPI_File, MPI_Info* info) {
  return *info = MPI_INFO_NULL, MPI_SUCCESS;
}
inline int MPI_File_get_size(MPI_File, MPI_Offset*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_File_set_size(MPI_File, MPI_Offset) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_File_sync(MPI_File) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_File_read_at(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
inline int MPI_File_write_at(MPI_File, MPI_Offset, const void*, int, MPI_Datatype, MPI_Status*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
