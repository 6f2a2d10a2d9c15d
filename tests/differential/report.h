/* For programs that run with two PnetCDF libraries. Every rank writes its results to report.RANK in its
 * working directory, and compare.py compares them. A report has only results that must agree: no
 * addresses, times or versions. */
#ifndef SLUICE_TESTS_REPORT_H
#define SLUICE_TESTS_REPORT_H

#include <mpi.h>
#include <pnetcdf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE* report_file;
static int report_rank, report_ranks;

/* Starts MPI and the report. */
static inline void report_begin(int* argc, char*** argv) {
  char name[32];
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &report_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &report_ranks);
  snprintf(name, sizeof name, "report.%d", report_rank);
  report_file = fopen(name, "w");
  if (!report_file) MPI_Abort(MPI_COMM_WORLD, 9);
}

static inline int report_end(void) {
  fprintf(report_file, "end\n");
  fclose(report_file);
  MPI_Finalize();
  return 0;
}

static inline void show(const char* format, ...) __attribute__((format(printf, 1, 2)));
static inline void show(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(report_file, format, arguments);
  va_end(arguments);
  fputc('\n', report_file);
  fflush(report_file);
}

/* Waits for the other ranks, so that experiments with failing collectives stay separate. */
static inline void together(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

static inline int report_status(int line, const char* call, int status) {
  show("%d: %s -> %s", line, call, ncmpi_strerrno(status));
  return status;
}

/* Calls, and reports the status by name. */
#define TRY(call) report_status(__LINE__, #call, (call))
#pragma weak sluice_last_error
extern const char* sluice_last_error(void);

/* The library's text about its last failure, for people. */
static inline const char* report_reason(void) {
  return sluice_last_error ? sluice_last_error() : "";
}

/* With a burst buffer, a flush returns NC_ERANGE for an earlier put. */
static inline int is_of_put_before(int status) {
  const char* hints = getenv("PNETCDF_HINTS");
  return status == NC_ERANGE && hints && strstr(hints, "nc_burst_buf=enable");
}

/* Calls, and ends the program unless the status is NC_NOERR. For preparations. */
#define MUST(call)                                                                                    \
  do {                                                                                                \
    int must_status = (call);                                                                         \
    if (must_status != NC_NOERR && !is_of_put_before(must_status)) {                                  \
      show("%d: %s -> %s, cannot go on", __LINE__, #call, ncmpi_strerrno(must_status));               \
      fprintf(stderr, "%s:%d: %s -> %s %s\n", __FILE__, __LINE__, #call, ncmpi_strerrno(must_status), \
              report_reason());                                                                       \
      MPI_Abort(MPI_COMM_WORLD, 8);                                                                   \
    }                                                                                                 \
  } while (0)

#endif
