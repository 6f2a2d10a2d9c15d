// cases writer|reader CASE: an ordinary PnetCDF program for features that only a coupled run has. The exit
// status is 1 if anything is not as expected.
#include "cases.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>

using namespace cases;

namespace {

void publish(const char* path, int value) {
  const int ncid = create(MPI_COMM_WORLD, path);
  put_fixed(ncid, value);
  OK(ncmpi_close(ncid));
}

void read_one(const char* path, int value) {
  const int ncid = open(MPI_COMM_WORLD, path);
  THAT(all_are(get_fixed(ncid), value));
  OK(ncmpi_close(ncid));
}

/// The ranks agree on the number of records after each collective put, and at the end of independent mode.
void write_records() {
  const int ncid = create(MPI_COMM_WORLD, "case_a.nc");
  for (int step = 0; step < 50; ++step) {
    // Each time another rank is ahead. One rank has nothing to put.
    const bool is_ahead = step % size == rank;
    const MPI_Offset start[] = {is_ahead ? step : 0, 0},
                     count[] = {rank == size - 1 && size > 1 && !is_ahead ? 0 : 1, columns};
    const std::vector<int> row(columns, is_ahead ? step : 0);
    OK(ncmpi_put_vara_int_all(ncid, 0, start, count, row.data()));
    if (step % 3 == 0) THAT(records(ncid) == step + 1);
  }
  THAT(records(ncid) == 50);
  OK(ncmpi_begin_indep_data(ncid));
  if (rank == size - 1) put_record(ncid, 60, 60, false);
  OK(ncmpi_end_indep_data(ncid));
  THAT(records(ncid) == 61);
  // A collective get sees earlier collective puts of the other ranks.
  put_record(ncid, 61 + rank, 61 + rank, true);
  for (int other = 0; other < size; ++other) THAT(all_are(get_record(ncid, 61 + other), 61 + other));
  OK(ncmpi_close(ncid));
}
void read_records() {
  const int ncid = open(MPI_COMM_WORLD, "case_a.nc");
  THAT(records(ncid) > 61);
  for (int record = 1; record < 50; ++record) THAT(all_are(get_record(ncid, record), record));
  if (!is_in_files) THAT(all_are(get_record(ncid, 55), NC_FILL_INT));
  THAT(all_are(get_record(ncid, 60), 60));
  OK(ncmpi_close(ncid));
}

/// The workflow decides what a component may do, and the error says so.
void write_permissions() {
  publish("case_a.nc", 1);
  read_one("case_a.nc", 1);
}
void read_permissions() {
  read_one("case_a.nc", 1);
  int ncid = -1;
  FAILS(ncmpi_create(MPI_COMM_WORLD, "case_a.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid), NC_EPERM);
  THAT(last_error().find("reader") != std::string::npos);
  FAILS(ncmpi_open(MPI_COMM_WORLD, "case_a.nc", NC_WRITE, MPI_INFO_NULL, &ncid), NC_EPERM);
  if (rank == 0) FAILS(ncmpi_delete("case_a.nc", MPI_INFO_NULL), NC_EPERM);
  ncid = open(MPI_COMM_WORLD, "case_a.nc");
  const int row[columns] = {};
  FAILS(ncmpi_put_var_int_all(ncid, 1, row), NC_EPERM);
  OK(ncmpi_close(ncid));
}

int format_of(const char* path, int status = NC_NOERR) {
  int format = 0;
  expect(ncmpi_inq_file_format(path, &format), status, path, __LINE__);
  return format;
}

/// The format is that of the file that the dataset stands for. Asking for it is not reading.
void write_formats() {
  const int modes[] = {NC_CLOBBER, NC_64BIT_OFFSET, NC_64BIT_DATA}, formats[] = {1, 2, 5};
  if (rank == 0) THAT(format_of("case_none.nc", NC_ENOENT) == -1);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) {
    const std::string path = "case_" + std::to_string(i) + ".nc";
    int ncid = -1, dimid = 0;
    OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), modes[i], MPI_INFO_NULL, &ncid));
    THAT(format_of(path.c_str(), NC_EFILE) == -1);  // as for a file without a header
    MPI_Barrier(MPI_COMM_WORLD);
    OK(ncmpi_def_dim(ncid, "x", 3, &dimid));
    OK(ncmpi_enddef(ncid));
    MPI_Barrier(MPI_COMM_WORLD);
    THAT(format_of(path.c_str()) == formats[i]);
    OK(ncmpi_close(ncid));
    THAT(format_of(path.c_str()) == formats[i]);
  }
  // The other component asks for the format of this one's file only when it knows the other format.
  THAT(format_of("back_a.nc") == 5);
  publish("case_done.nc", 3);
}
void read_formats() {
  const int formats[] = {1, 2, 5};
  for (int i = 2; i >= 0; --i) {  // the last one first, so that it has to be waited for
    const std::string path = "case_" + std::to_string(i) + ".nc";
    THAT(format_of(path.c_str()) == formats[i]);
    THAT(ncmpi_inq_file_format(path.c_str(), nullptr) == NC_NOERR);
  }
  const int ncid = create(MPI_COMM_WORLD, "back_a.nc", NC_64BIT_DATA);
  OK(ncmpi_close(ncid));
  THAT(format_of("case_done.nc") == 1);
  // The inquiry did not read the file, so it still exists after everything was read.
  read_one("case_done.nc", 3);
  THAT(format_of("case_never.nc", NC_ENOENT) == -1);
  THAT(last_error().find("case_never.nc") != std::string::npos);
}

/// NC_NOCLOBBER, NC_ENOENT, deleting, creating anew.
void write_existence() {
  int ncid = -1;
  FAILS(ncmpi_open(MPI_COMM_WORLD, "case_none.nc", NC_WRITE, MPI_INFO_NULL, &ncid), NC_ENOENT);
  if (rank == 0) FAILS(ncmpi_delete("case_none.nc", MPI_INFO_NULL), NC_ENOENT);
  MPI_Barrier(MPI_COMM_WORLD);
  publish("case_a.nc", 1);
  FAILS(ncmpi_create(MPI_COMM_WORLD, "case_a.nc", NC_NOCLOBBER, MPI_INFO_NULL, &ncid), NC_EEXIST);
  if (rank == 0) OK(ncmpi_delete("case_a.nc", MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  FAILS(ncmpi_open(MPI_COMM_WORLD, "case_a.nc", NC_WRITE, MPI_INFO_NULL, &ncid), NC_ENOENT);
  ncid = create(MPI_COMM_WORLD, "case_a.nc", NC_NOCLOBBER);
  put_fixed(ncid, 2);
  OK(ncmpi_close(ncid));
  // Data that passes through memory is there for the C library, too.
  if (!is_in_files) THAT(access("case_a.nc", F_OK) == 0);
  publish("case_done.nc", 3);
}
/// A file with nothing but a signature, which came there in a way that Sluice does not see, does not
/// interfere and stays. Who reads by the C library gets the coupled file.
void read_existence() {
  const std::string signature("CDF\5\0\0\0\0", 8);
  if (!is_in_files && rank == 0) {
    std::ofstream("signature", std::ios::binary) << signature;
    THAT(std::system("env -i ln signature case_done.nc") == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  read_one("case_done.nc", 3);
  if (!is_in_files && rank == 0) {
    std::ifstream file("case_done.nc", std::ios::binary);
    const std::string read(std::istreambuf_iterator<char>(file), {});
    THAT(read.starts_with("CDF") && read.size() > signature.size());
    THAT(std::system("env -i rm case_done.nc") == 0);
  }
  read_one("case_a.nc", 2);
}

/// Fill values: of a record after later puts of other ranks, of a new variable in a reopened file, and by
/// ncmpi_set_fill.
void write_fill() {
  int ncid = -1, dims[2] = {}, varid = -1, old_mode = 0;
  OK(ncmpi_create(MPI_COMM_WORLD, "case_a.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  OK(ncmpi_set_fill(ncid, NC_FILL, &old_mode));
  OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
  OK(ncmpi_def_dim(ncid, "x", columns, &dims[1]));
  OK(ncmpi_def_var(ncid, "r", NC_INT, 2, dims, &varid));
  const int fill = -7;
  OK(ncmpi_def_var_fill(ncid, varid, 0, &fill));
  OK(ncmpi_enddef(ncid));
  for (int round = 0; round < 20; ++round) {
    // Rank by rank, so that clocks and calls are out of step.
    for (int turn = 0; turn < size; ++turn) put_record(ncid, 0, 100 * round + turn, true);
    OK(ncmpi_fill_var_rec(ncid, varid, 0));
    THAT(all_are(get_record(ncid, 0), fill));
  }
  put_record(ncid, 1, 5, true);
  OK(ncmpi_close(ncid));
  ncid = open(MPI_COMM_WORLD, "case_a.nc", NC_WRITE);
  OK(ncmpi_redef(ncid));
  OK(ncmpi_def_var(ncid, "late", NC_SHORT, 2, dims, &varid));
  OK(ncmpi_enddef(ncid));
  put_record(ncid, 2, 6, true);
  OK(ncmpi_close(ncid));
  publish("case_done.nc", 3);
}
void read_fill() {
  read_one("case_done.nc", 3);
  const int ncid = open(MPI_COMM_WORLD, "case_a.nc");
  THAT(records(ncid) == 3);
  THAT(all_are(get_record(ncid, 0), -7));
  THAT(all_are(get_record(ncid, 1), 5));
  THAT(all_are(get_record(ncid, 2), 6));
  std::vector<int> late(3 * columns, 0);
  OK(ncmpi_get_var_int_all(ncid, 1, late.data()));
  if (!is_in_files) THAT(all_are(late, NC_FILL_SHORT));
  OK(ncmpi_close(ncid));
}

/// A writer that reads its own step sees its puts, through any communicator.
void write_itself() {
  const int ncid = create(MPI_COMM_WORLD, "case_a.nc");
  put_record(ncid, 0, 10, true);
  put_record(ncid, 1, 11, true);
  put_fixed(ncid, 7);
  OK(ncmpi_sync(ncid));
  const int again = open(MPI_COMM_WORLD, "case_a.nc");
  THAT(records(again) == 2);
  THAT(all_are(get_record(again, 1), 11));
  THAT(all_are(get_fixed(again), 7));
  MPI_Barrier(MPI_COMM_WORLD);
  put_record(ncid, 1, 21, true);
  put_record(ncid, 2, 12, true);
  OK(ncmpi_sync(ncid));
  MPI_Barrier(MPI_COMM_WORLD);
  THAT(records(again) == 2);  // as with a file: new values are visible, new records are not
  THAT(all_are(get_record(again, 1), 21));
  OK(ncmpi_close(again));
  if (rank == size - 1) {
    const int alone = open(MPI_COMM_SELF, "case_a.nc");
    THAT(records(alone) == 3);
    THAT(all_are(get_record(alone, 2), 12));
    OK(ncmpi_close(alone));
  }
  MPI_Barrier(MPI_COMM_WORLD);  // otherwise the others may have put more by then
  put_record(ncid, 3, 13, true);
  OK(ncmpi_close(ncid));
  const int closed = open(MPI_COMM_WORLD, "case_a.nc");
  THAT(records(closed) == 4);
  OK(ncmpi_close(closed));
}
void read_itself() {
  const int ncid = open(MPI_COMM_WORLD, "case_a.nc");
  THAT(records(ncid) == 4);
  THAT(all_are(get_record(ncid, 1), 21));
  THAT(all_are(get_record(ncid, 3), 13));
  THAT(all_are(get_fixed(ncid), 7));
  OK(ncmpi_close(ncid));
}

/// ncmpi_abort removes a new file. A reopened file keeps what was put in data mode.
void write_abort() {
  int ncid = -1, dimid = 0;
  OK(ncmpi_create(MPI_COMM_WORLD, "case_a.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  OK(ncmpi_def_dim(ncid, "x", 3, &dimid));
  OK(ncmpi_abort(ncid));
  FAILS(ncmpi_open(MPI_COMM_WORLD, "case_a.nc", NC_WRITE, MPI_INFO_NULL, &ncid), NC_ENOENT);
  publish("case_a.nc", 1);
  ncid = open(MPI_COMM_WORLD, "case_a.nc", NC_WRITE);
  put_fixed(ncid, 2);
  OK(ncmpi_redef(ncid));
  OK(ncmpi_def_dim(ncid, "never", 3, &dimid));
  OK(ncmpi_abort(ncid));
  publish("case_done.nc", 3);
}
void read_abort() {
  read_one("case_done.nc", 3);
  const int ncid = open(MPI_COMM_WORLD, "case_a.nc");
  int dimid = 0;
  FAILS(ncmpi_inq_dimid(ncid, "never", &dimid), NC_EBADDIM);
  THAT(all_are(get_fixed(ncid), 2));
  OK(ncmpi_close(ncid));
}

/// A forked child can neither use nor disturb its parent's open files, not even by its exit.
void write_fork() {
  const int ncid = create(MPI_COMM_WORLD, "case_a.nc");
  put_record(ncid, 0, 1, true);
  const pid_t child = ::fork();
  if (child == 0) {
    const MPI_Offset start[] = {0, 0}, count[] = {1, columns};
    const int row[columns] = {9, 9, 9, 9, 9, 9, 9, 9};
    const int status = ncmpi_put_vara_int_all(ncid, 0, start, count, row);
    std::_Exit(status == NC_EIO ? 0 : 1);
  }
  int status = -1;
  THAT(::waitpid(child, &status, 0) == child && status == 0);
  put_record(ncid, 1, 2, true);
  OK(ncmpi_close(ncid));
}
void read_fork() {
  const int ncid = open(MPI_COMM_WORLD, "case_a.nc");
  THAT(all_are(get_record(ncid, 0), 1));
  THAT(all_are(get_record(ncid, 1), 2));
  OK(ncmpi_close(ncid));
}

/// Several communicators at a time, freed while their files are open. One file is open twice.
void write_groups() {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  const std::string path = "case_" + std::to_string(rank % 2) + ".nc";
  const int ncid = create(half, path.c_str());
  const int alone = create(MPI_COMM_SELF, ("case_alone_" + std::to_string(rank) + ".nc").c_str());
  MPI_Comm_free(&half);
  put_record(alone, 0, rank, true);
  put_record(ncid, 0, 10 + rank % 2, true);
  OK(ncmpi_close(alone));
  OK(ncmpi_close(ncid));
  if (rank == 0 && size == 1) {
    const int other = create(MPI_COMM_SELF, "case_1.nc");
    put_record(other, 0, 11, true);
    OK(ncmpi_close(other));
  }
}
void read_groups() {
  const int first = open(MPI_COMM_WORLD, "case_0.nc");
  const int again = open(MPI_COMM_SELF, "case_0.nc");
  const int other = open(MPI_COMM_SELF, "case_1.nc");
  THAT(all_are(get_record(first, 0), 10));
  THAT(all_are(get_record(again, 0), 10));
  OK(ncmpi_close(first));
  THAT(all_are(get_record(again, 0), 10));
  THAT(all_are(get_record(other, 0), 11));
  OK(ncmpi_close(again));
  OK(ncmpi_close(other));
  const int alone = open(MPI_COMM_WORLD, "case_alone_0.nc");
  THAT(all_are(get_record(alone, 0), 0));
  OK(ncmpi_close(alone));
}

/// Many more bytes than memory: segments are recycled, puts wait for the reader, every value is right.
constexpr MPI_Offset long_row = 1 << 20;
std::vector<int> long_values(int file, int writer) {
  std::vector<int> values(long_row);
  std::iota(values.begin(), values.end(), 1000003 * file + 17 * writer);
  return values;
}
void write_pressure() {
  for (int file = 0; file < 24; ++file) {
    int ncid = -1, dims[2] = {}, varid = -1;
    OK(ncmpi_create(MPI_COMM_WORLD, ("case_" + std::to_string(file) + ".nc").c_str(), NC_CLOBBER,
                    MPI_INFO_NULL, &ncid));
    OK(ncmpi_def_dim(ncid, "writer", size, &dims[0]));
    OK(ncmpi_def_dim(ncid, "x", long_row, &dims[1]));
    OK(ncmpi_def_var(ncid, "v", NC_INT, 2, dims, &varid));
    OK(ncmpi_enddef(ncid));
    const auto values = long_values(file, rank);
    // File sizes differ, so that segments do not simply rotate.
    const MPI_Offset part = file % 3 == 0 ? long_row : long_row / (1 + file % 5) / 8 * 8;
    for (MPI_Offset first = 0; first < long_row; first += part) {
      const MPI_Offset start[] = {rank, first}, count[] = {1, std::min(part, long_row - first)};
      OK(ncmpi_put_vara_int_all(ncid, varid, start, count, values.data() + first));
    }
    OK(ncmpi_close(ncid));
  }
}
void read_pressure() {
  for (int file = 0; file < 24; ++file) {
    const int ncid = open(MPI_COMM_WORLD, ("case_" + std::to_string(file) + ".nc").c_str());
    MPI_Offset writers = 0;
    OK(ncmpi_inq_dimlen(ncid, 0, &writers));
    std::vector<int> values(long_row);
    for (int writer = 0; writer < writers; ++writer) {
      const MPI_Offset start[] = {writer, 0}, count[] = {1, long_row};
      OK(ncmpi_get_vara_int_all(ncid, 0, start, count, values.data()));
      THAT(values == long_values(file, writer));
    }
    OK(ncmpi_close(ncid));
  }
}

/// A put without memory makes no records, and the others can go on.
constexpr MPI_Offset wide_row = 1 << 24;  // 64 MiB of ints, more than the staging memory
void write_no_room() {
  int ncid = -1, dims[2] = {}, wide_dims[2] = {}, varid = -1, wide = -1;
  OK(ncmpi_create(MPI_COMM_WORLD, "case_a.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
  OK(ncmpi_def_dim(ncid, "x", columns, &dims[1]));
  OK(ncmpi_def_dim(ncid, "wide", wide_row, &wide_dims[1]));
  wide_dims[0] = dims[0];
  OK(ncmpi_def_var(ncid, "r", NC_INT, 2, dims, &varid));
  OK(ncmpi_def_var(ncid, "w", NC_INT, 2, wide_dims, &wide));
  OK(ncmpi_enddef(ncid));
  put_record(ncid, 0, 1, true);
  const std::vector<int> row(wide_row, 5), short_row(columns, 2);
  const MPI_Offset start[] = {7, 0}, origin[] = {0, 0}, all[] = {1, wide_row}, none[] = {0, wide_row},
                   second[] = {1, 0}, one[] = {1, columns};
  // Only one rank lacks memory: the others' part of the call is valid.
  const bool is_last = rank == size - 1;
  FAILS(ncmpi_put_vara_int_all(ncid, wide, is_last ? start : origin, is_last ? all : none, row.data()),
        is_last ? NC_ENO_SPACE : NC_NOERR);
  THAT(records(ncid) == 1);
  MPI_Offset put_bytes = 0, bytes_before = 0;
  OK(ncmpi_inq_put_size(ncid, &bytes_before));
  // Together with a put that fits.
  int ids[2] = {}, statuses[2] = {};
  OK(ncmpi_iput_vara_int(ncid, wide, start, all, row.data(), &ids[0]));
  OK(ncmpi_iput_vara_int(ncid, varid, second, one, short_row.data(), &ids[1]));
  FAILS(ncmpi_wait_all(ncid, 2, ids, statuses), NC_ENO_SPACE);
  THAT(statuses[0] == NC_ENO_SPACE);
  THAT(statuses[1] == NC_NOERR);
  OK(ncmpi_inq_put_size(ncid, &put_bytes));
  THAT(put_bytes - bytes_before < 100);
  THAT(records(ncid) == 2);
  OK(ncmpi_close(ncid));
}
void read_no_room() {
  const int ncid = open(MPI_COMM_WORLD, "case_a.nc");
  THAT(records(ncid) == 2);
  THAT(all_are(get_record(ncid, 0), 1));
  THAT(all_are(get_record(ncid, 1), 2));
  OK(ncmpi_close(ncid));
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct Case {
    std::function<void()> write, read;
  };
  const std::map<std::string, Case> cases{{"records", {write_records, read_records}},
                                          {"permissions", {write_permissions, read_permissions}},
                                          {"formats", {write_formats, read_formats}},
                                          {"existence", {write_existence, read_existence}},
                                          {"fill", {write_fill, read_fill}},
                                          {"itself", {write_itself, read_itself}},
                                          {"abort", {write_abort, read_abort}},
                                          {"fork", {write_fork, read_fork}},
                                          {"threads", {write_threads, read_threads}},
                                          {"groups", {write_groups, read_groups}},
                                          {"many_threads", {write_many_threads, read_many_threads}},
                                          {"continued", {write_continued, read_continued}},
                                          {"histories", {write_histories, read_histories}},
                                          {"no_room", {write_no_room, read_no_room}},
                                          {"pressure", {write_pressure, read_pressure}}};
  const auto found = argc == 3 ? cases.find(argv[2]) : cases.end();
  if (found == cases.end()) {
    std::fprintf(stderr, "usage: cases writer|reader CASE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  (std::string(argv[1]) == "writer" ? found->second.write : found->second.read)();
  int all_failures = failures;
  MPI_Allreduce(MPI_IN_PLACE, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_failures == 0 ? 0 : 1;
}
