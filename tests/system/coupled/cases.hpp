// Tools that the programs of coupled cases share: checks that count failures, and files with one record
// variable and one fixed variable.
#pragma once
#include <dlfcn.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace cases {

inline int rank = 0;
inline int size = 1;
inline std::atomic<int> failures = 0;
/// Data in files on disk is filled only on request.
inline const bool is_in_files = std::getenv("SLUICE_TEST_THROUGH") != nullptr;

inline std::string last_error() {
  using LastError = const char* (*)();
  const auto function = reinterpret_cast<LastError>(dlsym(RTLD_DEFAULT, "sluice_last_error"));
  return function != nullptr ? function() : "";
}

inline void expect(int status, int expected, const char* what, int line) {
  if (status == expected) return;
  std::fprintf(stderr, "rank %d, line %d: %s: %s, not %s (%s)\n", rank, line, what, ncmpi_strerrno(status),
               ncmpi_strerrno(expected), last_error().c_str());
  ++failures;
}
#define OK(call) expect((call), NC_NOERR, #call, __LINE__)
#define FAILS(call, code) expect((call), (code), #call, __LINE__)
#define THAT(condition)                                                               \
  do {                                                                                \
    if (!(condition)) {                                                               \
      std::fprintf(stderr, "rank %d, line %d: not %s\n", rank, __LINE__, #condition); \
      ++failures;                                                                     \
    }                                                                                 \
  } while (false)

constexpr MPI_Offset columns = 8;

/// Creates a file with a record variable "r" and a fixed variable "f", and ends define mode.
inline int create(MPI_Comm comm, const char* path, int mode = NC_CLOBBER) {
  int ncid = -1, dims[2] = {}, varid = -1;
  OK(ncmpi_create(comm, path, mode, MPI_INFO_NULL, &ncid));
  OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
  OK(ncmpi_def_dim(ncid, "x", columns, &dims[1]));
  OK(ncmpi_def_var(ncid, "r", NC_INT, 2, dims, &varid));
  OK(ncmpi_def_var(ncid, "f", NC_INT, 1, dims + 1, &varid));
  OK(ncmpi_enddef(ncid));
  return ncid;
}

inline int open(MPI_Comm comm, const char* path, int mode = NC_NOWRITE) {
  int ncid = -1;
  OK(ncmpi_open(comm, path, mode, MPI_INFO_NULL, &ncid));
  return ncid;
}

inline MPI_Offset records(int ncid) {
  MPI_Offset length = -1;
  OK(ncmpi_inq_dimlen(ncid, 0, &length));
  return length;
}

inline void put_record(int ncid, MPI_Offset record, int value, bool all) {
  const MPI_Offset start[] = {record, 0}, count[] = {1, columns};
  const std::vector<int> row(columns, value);
  OK((all ? ncmpi_put_vara_int_all : ncmpi_put_vara_int)(ncid, 0, start, count, row.data()));
}

inline std::vector<int> get_record(int ncid, MPI_Offset record) {
  const MPI_Offset start[] = {record, 0}, count[] = {1, columns};
  std::vector<int> row(columns, -1);
  OK(ncmpi_get_vara_int_all(ncid, 0, start, count, row.data()));
  return row;
}

inline bool all_are(const std::vector<int>& row, int value) {
  for (const int found : row) {
    if (found != value) return false;
  }
  return true;
}

inline void put_fixed(int ncid, int value) {
  const MPI_Offset start[] = {0}, count[] = {rank == 0 ? columns : 0};
  const std::vector<int> row(columns, value);
  OK(ncmpi_put_vara_int_all(ncid, 1, start, count, row.data()));
}

inline std::vector<int> get_fixed(int ncid) {
  std::vector<int> row(columns, -1);
  OK(ncmpi_get_var_int_all(ncid, 1, row.data()));
  return row;
}

// Cases with their own source files: thread_cases.cpp and step_cases.cpp.
void write_threads();
void read_threads();
void write_many_threads();
void read_many_threads();
void write_continued();
void read_continued();
void write_histories();
void read_histories();

}  // namespace cases
