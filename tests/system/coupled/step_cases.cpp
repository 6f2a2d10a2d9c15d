// Coupled cases of files that are written in several steps.
#include <array>
#include <numeric>

#include "cases.hpp"

namespace cases {

namespace {

constexpr int continued_steps = 8;
constexpr MPI_Offset part = 100;  // elements of one rank

std::string name_of(const char* what, int number) {
  return std::string("case_") + what + std::to_string(number) + ".nc";
}

void announce(int step) {
  int ncid = -1;
  OK(ncmpi_create(MPI_COMM_WORLD, name_of("done", step).c_str(), NC_CLOBBER, MPI_INFO_NULL, &ncid));
  OK(ncmpi_close(ncid));
}

void await(const std::string& path) {
  const int ncid = open(MPI_COMM_WORLD, path.c_str());
  OK(ncmpi_close(ncid));
}

std::vector<int> part_of(int step, int writer) {
  std::vector<int> values(part);
  std::iota(values.begin(), values.end(), step * 10000 + writer * 1000);
  return values;
}

/// A rank puts the same data in every group.
void put_part(int ncid, int step) {
  const MPI_Offset start = rank * part;
  OK(ncmpi_begin_indep_data(ncid));
  OK(ncmpi_put_vara_int(ncid, 0, &start, &part, part_of(step, rank).data()));
  OK(ncmpi_end_indep_data(ncid));
  OK(ncmpi_close(ncid));
}

/// The number of ranks that create the file. The other ranks open it when these have closed it.
int creators(int step) {
  const std::array<int, 4> of_step{size, 1, size - 1, size};
  const int creating = of_step[static_cast<std::size_t>(step) % of_step.size()];
  return creating > 0 ? creating : 1;
}

}  // namespace

void write_continued() {
  for (int step = 0; step < continued_steps; ++step) {
    const std::string path = name_of("part", step);
    const bool is_creator = rank < creators(step);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, is_creator ? 0 : 1, rank, &comm);
    int ncid = -1, dimid = -1, varid = -1;
    if (is_creator) {
      OK(ncmpi_create(comm, path.c_str(), NC_CLOBBER, MPI_INFO_NULL, &ncid));
      OK(ncmpi_def_dim(ncid, "x", size * part, &dimid));
      OK(ncmpi_def_var(ncid, "v", NC_INT, 1, &dimid, &varid));
      OK(ncmpi_enddef(ncid));
      put_part(ncid, step);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!is_creator) put_part(open(comm, path.c_str(), NC_WRITE), step);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    announce(step);
  }
}

void read_continued() {
  for (int step = 0; step < continued_steps; ++step) {
    await(name_of("done", step));
    const int ncid = open(MPI_COMM_WORLD, name_of("part", step).c_str());
    MPI_Offset elements = 0;
    OK(ncmpi_inq_dimlen(ncid, 0, &elements));
    std::vector<int> values(part);
    for (int writer = 0; writer < elements / part; ++writer) {
      const MPI_Offset start = writer * part;
      OK(ncmpi_get_vara_int_all(ncid, 0, &start, &part, values.data()));
      THAT(values == part_of(step, writer));
    }
    OK(ncmpi_close(ncid));
  }
}

namespace {
constexpr int histories = 3;
constexpr int history_records = 3;
}  // namespace

void write_histories() {
  for (int record = 0; record < history_records; ++record) {
    for (int history = 0; history < histories; ++history) {
      const std::string path = name_of("history", history);
      const int ncid =
          record == 0 ? create(MPI_COMM_WORLD, path.c_str()) : open(MPI_COMM_WORLD, path.c_str(), NC_WRITE);
      put_record(ncid, record, record * 10 + history, true);
      OK(ncmpi_close(ncid));
    }
    announce(record);
    await("back_seen" + std::to_string(record) + ".nc");  // all of them have been read
  }
}

void read_histories() {
  for (int record = 0; record < history_records; ++record) {
    await(name_of("done", record));
    for (int history = 0; history < histories; ++history) {
      const int ncid = open(MPI_COMM_WORLD, name_of("history", history).c_str());
      THAT(records(ncid) == record + 1);
      for (int i = 0; i <= record; ++i) THAT(all_are(get_record(ncid, i), i * 10 + history));
      OK(ncmpi_close(ncid));
    }
    int ncid = -1;
    OK(ncmpi_create(MPI_COMM_WORLD, ("back_seen" + std::to_string(record) + ".nc").c_str(), NC_CLOBBER,
                    MPI_INFO_NULL, &ncid));
    OK(ncmpi_close(ncid));
  }
}

}  // namespace cases
