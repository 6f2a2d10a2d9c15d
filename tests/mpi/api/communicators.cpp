// The user's communicator: the library duplicates it once. It may be freed while datasets that it opened are
// in use.
#include <doctest/doctest.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <string>

namespace {

/// Duplicates that this program and the library have made.
int duplicated = 0;
int freed = 0;
int thread_level = MPI_THREAD_SINGLE;  // the level that MPI reports

}  // namespace

// The library calls these functions, which come before MPI's own.
extern "C" int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  ++duplicated;
  return PMPI_Comm_dup(comm, newcomm);
}
extern "C" int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  ++duplicated;
  return PMPI_Comm_idup(comm, newcomm, request);
}
extern "C" int MPI_Comm_free(MPI_Comm* comm) {
  ++freed;
  return PMPI_Comm_free(comm);
}
extern "C" int MPI_Query_thread(int* provided) {
  *provided = thread_level;
  return MPI_SUCCESS;
}

namespace {

/// A communicator of all ranks that the library has not seen.
MPI_Comm new_communicator() {
  MPI_Comm comm = MPI_COMM_NULL;
  REQUIRE(PMPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
  return comm;
}

int create(MPI_Comm comm, const std::string& path) {
  int file = -1;
  REQUIRE(ncmpi_create(comm, path.c_str(), NC_CLOBBER, MPI_INFO_NULL, &file) == NC_NOERR);
  int x = -1;
  int variable = -1;
  REQUIRE(ncmpi_def_dim(file, "x", 4, &x) == NC_NOERR);
  REQUIRE(ncmpi_def_var(file, "v", NC_INT, 1, &x, &variable) == NC_NOERR);
  REQUIRE(ncmpi_enddef(file) == NC_NOERR);
  return file;
}

void put_and_get(int file, int value) {
  const int values[4] = {value, value + 1, value + 2, value + 3};
  CHECK(ncmpi_put_var_int_all(file, 0, values) == NC_NOERR);
  int got[4] = {};
  CHECK(ncmpi_get_var_int_all(file, 0, got) == NC_NOERR);
  CHECK(got[3] == value + 3);
}

}  // namespace

TEST_CASE("a communicator is duplicated once, however many datasets it opens") {
  MPI_Comm comm = new_communicator();
  duplicated = 0;
  for (int i = 0; i < 3; ++i) {
    const int one = create(comm, "communicators_1.nc");
    const int two = create(comm, "communicators_2.nc");
    put_and_get(one, i);
    put_and_get(two, 10 * i);
    CHECK(ncmpi_close(one) == NC_NOERR);
    put_and_get(two, 100 * i);
    CHECK(ncmpi_close(two) == NC_NOERR);
  }
  CHECK(duplicated == 1);
  MPI_Comm_free(&comm);
}

TEST_CASE("datasets outlive the communicator that opened them, and its duplicate ends with the last") {
  MPI_Comm comm = new_communicator();
  const int one = create(comm, "communicators_1.nc");
  const int two = create(comm, "communicators_2.nc");
  freed = 0;
  MPI_Comm_free(&comm);
  put_and_get(one, 3);
  CHECK(ncmpi_close(one) == NC_NOERR);
  put_and_get(two, 4);
  CHECK(freed == 1);
  CHECK(ncmpi_close(two) == NC_NOERR);
  CHECK(freed == 2);
}

TEST_CASE("without open datasets the duplicate ends with the communicator") {
  MPI_Comm comm = new_communicator();
  CHECK(ncmpi_close(create(comm, "communicators_1.nc")) == NC_NOERR);
  freed = 0;
  MPI_Comm_free(&comm);
  CHECK(freed == 2);
}

TEST_CASE("a communicator that the user duplicates has a duplicate of its own") {
  MPI_Comm comm = new_communicator();
  const int one = create(comm, "communicators_1.nc");
  MPI_Comm copy = MPI_COMM_NULL;
  REQUIRE(PMPI_Comm_dup(comm, &copy) == MPI_SUCCESS);
  duplicated = 0;
  const int two = create(copy, "communicators_2.nc");
  CHECK(duplicated == 1);
  MPI_Comm_free(&comm);
  put_and_get(two, 5);
  put_and_get(one, 6);
  MPI_Comm_free(&copy);
  CHECK(ncmpi_close(one) == NC_NOERR);
  put_and_get(two, 7);
  CHECK(ncmpi_close(two) == NC_NOERR);
}

TEST_CASE("where threads may use MPI at the same time, each dataset has a duplicate of its own") {
  thread_level = MPI_THREAD_MULTIPLE;
  MPI_Comm comm = new_communicator();
  duplicated = 0;
  freed = 0;
  const int one = create(comm, "communicators_1.nc");
  const int two = create(comm, "communicators_2.nc");
  CHECK(duplicated == 2);
  CHECK(ncmpi_close(one) == NC_NOERR);
  CHECK(ncmpi_close(two) == NC_NOERR);
  CHECK(freed == 2);
  MPI_Comm_free(&comm);
  thread_level = MPI_THREAD_SINGLE;
}
