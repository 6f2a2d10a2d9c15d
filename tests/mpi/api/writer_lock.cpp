// Several communicators write interleaved parts of one file at the same time. They do not change each other's
// elements, however close these are.
#include <doctest/doctest.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <vector>

namespace {

constexpr MPI_Offset elements = 6000;
constexpr int rounds = 3;
constexpr int puts_in_a_round = 60;

struct Info {
  MPI_Info value = MPI_INFO_NULL;
  explicit Info(const char* subfiles = nullptr) {
    MPI_Info_create(&value);
    MPI_Info_set(value, "romio_cb_write", "enable");
    if (subfiles != nullptr) MPI_Info_set(value, "nc_num_subfiles", subfiles);
  }
  ~Info() { MPI_Info_free(&value); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
};

void make_file(const char* path, const Info& info) {
  int file = -1;
  int x = -1;
  int varid = -1;
  REQUIRE(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, info.value, &file) == NC_NOERR);
  REQUIRE(ncmpi_def_dim(file, "x", 3 * elements, &x) == NC_NOERR);
  REQUIRE(ncmpi_def_var(file, "v", NC_INT, 1, &x, &varid) == NC_NOERR);
  REQUIRE(ncmpi_enddef(file) == NC_NOERR);
  REQUIRE(ncmpi_close(file) == NC_NOERR);
}

/// The ranks of a communicator put every third element in turn, and check them.
void put_every_third(int file, MPI_Comm comm, MPI_Offset first, int value) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const MPI_Offset start = first + 3 * rank;
  const MPI_Offset count = (elements - rank + ranks - 1) / ranks;
  const MPI_Offset stride = 3 * static_cast<MPI_Offset>(ranks);
  const std::vector<int> values(static_cast<std::size_t>(count), value);
  std::vector<int> read(values.size(), -1);
  CHECK(ncmpi_put_vars_int_all(file, 0, &start, &count, &stride, values.data()) == NC_NOERR);
  CHECK(ncmpi_get_vars_int_all(file, 0, &start, &count, &stride, read.data()) == NC_NOERR);
  CHECK(read == values);
}

/// Two groups put interleaved elements at the same time.
void write_in_groups(const char* path, const Info& info) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  make_file(path, info);
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);
  for (int round = 1; round <= rounds; ++round) {
    int file = -1;
    REQUIRE(ncmpi_open(group, path, NC_WRITE, info.value, &file) == NC_NOERR);
    for (int i = 0; i < puts_in_a_round; ++i)
      put_every_third(file, group, rank % 2, 1000 * round + 2 * i + rank % 2);
    CHECK(ncmpi_close(file) == NC_NOERR);
  }
  MPI_Comm_free(&group);
}

void write_by_two_handles(const char* path, const Info& info) {
  make_file(path, info);
  int files[2] = {-1, -1};
  for (int& file : files) REQUIRE(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, info.value, &file) == NC_NOERR);
  put_every_third(files[0], MPI_COMM_WORLD, 0, 3);
  put_every_third(files[1], MPI_COMM_WORLD, 1, 4);
  put_every_third(files[0], MPI_COMM_WORLD, 2, 5);
  for (const int file : files) CHECK(ncmpi_close(file) == NC_NOERR);
}

}  // namespace

TEST_CASE("groups of ranks that have one file open keep the puts of the others") {
  write_in_groups("writer_lock.nc", Info());
}

TEST_CASE("groups of ranks that have one dataset in subfiles open keep the puts of the others") {
  write_in_groups("other_writers_subfiles.nc", Info("3"));
}

TEST_CASE("one process may have a file open twice, and write to both") {
  write_by_two_handles("other_writers_twice.nc", Info());
}

TEST_CASE("one process may have a dataset in subfiles open twice, and write to both") {
  write_by_two_handles("other_writers_twice_subfiles.nc", Info("3"));
}
