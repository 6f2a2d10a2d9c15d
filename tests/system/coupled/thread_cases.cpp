// Several threads of one process use coupled files at the same time.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "cases.hpp"

namespace cases {

/// A thread that waits in an open does not delay another thread. The awaited file depends on the other
/// thread's file.
void write_threads() {
  if (rank != 0) return;
  std::thread waiting([] {
    const int ncid = open(MPI_COMM_SELF, "back_a.nc");
    THAT(all_are(get_fixed(ncid), 4));
    OK(ncmpi_close(ncid));
  });
  // By now the thread usually waits. Nothing depends on that; if it comes later, the case tests less.
  ::usleep(200000);
  for (int file = 0; file < 20; ++file) {
    const int ncid = create(MPI_COMM_SELF, ("case_" + std::to_string(file) + ".nc").c_str());
    put_record(ncid, file, file, true);
    OK(ncmpi_close(ncid));
  }
  waiting.join();
}
void read_threads() {
  if (rank != 0) return;
  std::vector<std::thread> threads;
  for (int file = 0; file < 20; ++file) {
    threads.emplace_back([file] {
      const int ncid = open(MPI_COMM_SELF, ("case_" + std::to_string(file) + ".nc").c_str());
      for (int round = 0; round < 20; ++round) THAT(all_are(get_record(ncid, file), file));
      OK(ncmpi_close(ncid));
    });
  }
  for (auto& thread : threads) thread.join();
  const int ncid = create(MPI_COMM_SELF, "back_a.nc");
  std::vector<int> row(columns, 4);
  OK(ncmpi_put_var_int_all(ncid, 1, row.data()));
  OK(ncmpi_close(ncid));
}

namespace {

constexpr int thread_count = 4;
constexpr int rounds = 5;

std::string own_path(int thread, int round) {
  return "case_own" + std::to_string(thread) + "_" + std::to_string(round) + ".nc";
}

/// The value that a thread puts into the shared file in a round.
int value_of(int writer, int thread, int round) {
  return 100 * writer + 10 * thread + round;
}

void run_threads(void (*work)(int ncid, int thread), int ncid) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < thread_count; ++thread) threads.emplace_back(work, ncid, thread);
  for (auto& thread : threads) thread.join();
}

/// The record that a thread of a writer puts in a round.
MPI_Offset record_of(int writer, int thread, int round) {
  return (static_cast<MPI_Offset>(writer) * thread_count + thread) * rounds + round;
}

/// A separate file by nonblocking requests, and a record of the shared file. Another thread has pending
/// requests in that, too.
void write_by_thread(int shared, int thread) {
  for (int round = 0; round < rounds; ++round) {
    put_record(shared, record_of(rank, thread, round), value_of(rank, thread, round), false);
    if (rank != 0) continue;
    const int ncid = create(MPI_COMM_SELF, own_path(thread, round).c_str());
    const std::vector<int> row(columns, value_of(7, thread, round));
    const MPI_Offset start[] = {0, 0}, count[] = {1, columns};
    int request = NC_REQ_NULL, status = NC_NOERR;
    OK(ncmpi_iput_vara_int(ncid, 0, start, count, row.data(), &request));
    OK(ncmpi_wait_all(ncid, 1, &request, &status));
    OK(status);
    OK(ncmpi_close(ncid));
  }
}

void read_by_thread(int shared, int thread) {
  MPI_Offset length = 0;
  OK(ncmpi_inq_dimlen(shared, 0, &length));
  const int writers = static_cast<int>(length / (thread_count * rounds));
  for (int round = 0; round < rounds; ++round) {
    const int ncid = open(MPI_COMM_SELF, own_path(thread, round).c_str());
    THAT(all_are(get_record(ncid, 0), value_of(7, thread, round)));
    for (int writer = 0; writer < writers; ++writer) {
      const MPI_Offset start[] = {record_of(writer, thread, round), 0}, count[] = {1, columns};
      std::vector<int> row(columns, -1);
      OK(ncmpi_get_vara_int(shared, 0, start, count, row.data()));
      THAT(all_are(row, value_of(writer, thread, round)));
    }
    OK(ncmpi_close(ncid));
  }
}

}  // namespace

/// Threads that use one dataset together, and meanwhile create and close others.
void write_many_threads() {
  const int ncid = create(MPI_COMM_WORLD, "case_shared.nc");
  OK(ncmpi_begin_indep_data(ncid));
  run_threads(write_by_thread, ncid);
  OK(ncmpi_end_indep_data(ncid));
  OK(ncmpi_close(ncid));
}
void read_many_threads() {
  const int ncid = open(MPI_COMM_WORLD, "case_shared.nc");
  OK(ncmpi_begin_indep_data(ncid));
  run_threads(read_by_thread, ncid);
  OK(ncmpi_end_indep_data(ncid));
  OK(ncmpi_close(ncid));
}

}  // namespace cases
