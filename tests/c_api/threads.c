/* Threads of one process use separate datasets at the same time, and one dataset together. */
#include <pnetcdf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { threads = 4, rounds = 20, length = 1000 };

static int shared_id, shared_variable, mistakes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void expect(int is_good, const char* what, int status) {
  if (is_good) return;
  pthread_mutex_lock(&lock);
  ++mistakes;
  printf("%s: %s (%s)\n", what, ncmpi_strerrno(status), sluice_last_error());
  pthread_mutex_unlock(&lock);
}

#define GOOD(call)                             \
  do {                                         \
    int status = (call);                       \
    expect(status == NC_NOERR, #call, status); \
  } while (0)

static void own_dataset(int rank, int thread, int round) {
  char path[60];
  int ncid, x, id, values[length], back[length] = {0};
  snprintf(path, sizeof path, "threads_%d_%d.nc", rank, thread);
  for (int i = 0; i < length; ++i) values[i] = 1000 * thread + round + i;
  GOOD(ncmpi_create(MPI_COMM_SELF, path, NC_CLOBBER, MPI_INFO_NULL, &ncid));
  GOOD(ncmpi_def_dim(ncid, "x", length, &x));
  GOOD(ncmpi_def_var(ncid, "v", NC_INT, 1, &x, &id));
  GOOD(ncmpi_enddef(ncid));
  GOOD(ncmpi_put_var_int_all(ncid, id, values));
  GOOD(ncmpi_close(ncid));
  GOOD(ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  GOOD(ncmpi_get_var_int_all(ncid, id, back));
  GOOD(ncmpi_close(ncid));
  expect(memcmp(values, back, sizeof values) == 0, "values of a thread's own dataset", NC_NOERR);
}

/* Each thread has its part of one variable. An error belongs to its thread. */
static void shared_dataset(int thread) {
  const MPI_Offset start = thread * length, count = length;
  int values[length], back[length] = {0};
  for (int i = 0; i < length; ++i) values[i] = 7 * thread + i;
  GOOD(ncmpi_put_vara_int(shared_id, shared_variable, &start, &count, values));
  GOOD(ncmpi_get_vara_int(shared_id, shared_variable, &start, &count, back));
  expect(memcmp(values, back, sizeof values) == 0, "values of the shared dataset", NC_NOERR);
  const int status = ncmpi_inq_varid(shared_id, thread % 2 ? "odd" : "even", &values[0]);
  expect(status == NC_ENOTVAR && strstr(sluice_last_error(), thread % 2 ? "odd" : "even") != NULL,
         "an error of a thread of its own", status);
}

static void* work(void* argument) {
  const int thread = *(int*)argument;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < rounds; ++round) {
    own_dataset(rank, thread, round);
    shared_dataset(thread);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, x, numbers[threads], rank;
  pthread_t ids[threads];
  char path[40];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    printf("this MPI has no MPI_THREAD_MULTIPLE: nothing is tested\n");
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "threads_shared_%d.nc", rank);
  GOOD(ncmpi_create(MPI_COMM_SELF, path, NC_64BIT_DATA, MPI_INFO_NULL, &shared_id));
  GOOD(ncmpi_def_dim(shared_id, "x", threads * length, &x));
  GOOD(ncmpi_def_var(shared_id, "v", NC_INT, 1, &x, &shared_variable));
  GOOD(ncmpi_enddef(shared_id));
  GOOD(ncmpi_begin_indep_data(shared_id));
  for (int i = 0; i < threads; ++i) {
    numbers[i] = i;
    if (pthread_create(&ids[i], NULL, work, &numbers[i]) != 0) return 2;
  }
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  GOOD(ncmpi_close(shared_id));
  int open_files = -1;
  GOOD(ncmpi_inq_files_opened(&open_files, NULL));
  expect(open_files == 0, "datasets left open", NC_NOERR);
  MPI_Finalize();
  return mistakes != 0;
}
