// Create and open when the ranks disagree, or one of them makes a mistake: no rank hangs, and the file is as
// rank 0 wants it.
#include <doctest/doctest.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdlib>
#include <string>

namespace {

int my_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

bool is_last() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return my_rank() == ranks - 1;
}

/// An info object with one hint.
class Info {
 public:
  Info(const char* key, const std::string& value) {
    MPI_Info_create(&info_);
    MPI_Info_set(info_, key, value.c_str());
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() { MPI_Info_free(&info_); }
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

class SafeMode {
 public:
  explicit SafeMode(bool is_on) { setenv("PNETCDF_SAFE_MODE", is_on ? "1" : "0", 1); }
  SafeMode(const SafeMode&) = delete;
  SafeMode& operator=(const SafeMode&) = delete;
  ~SafeMode() { unsetenv("PNETCDF_SAFE_MODE"); }
};

MPI_Offset value_of_hint(int file, const char* key) {
  MPI_Info info = MPI_INFO_NULL;
  REQUIRE(ncmpi_inq_file_info(file, &info) == NC_NOERR);
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int is_set = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &is_set);
  MPI_Info_free(&info);
  return is_set != 0 ? std::atoll(value) : -1;
}

/// Defines two variables, puts the second one, and reads it again. Returns its offset.
MPI_Offset use(int file) {
  int x = -1;
  int first = -1;
  int second = -1;
  MPI_Offset offset = -1;
  CHECK(ncmpi_def_dim(file, "x", 3, &x) == NC_NOERR);
  CHECK(ncmpi_def_var(file, "first", NC_INT, 1, &x, &first) == NC_NOERR);
  CHECK(ncmpi_def_var(file, "second", NC_INT, 1, &x, &second) == NC_NOERR);
  CHECK(ncmpi_enddef(file) == NC_NOERR);
  const int values[3] = {4, 5, 6};
  int read[3] = {};
  CHECK(ncmpi_put_var_int_all(file, second, values) == NC_NOERR);
  CHECK(ncmpi_get_var_int_all(file, second, read) == NC_NOERR);
  CHECK(read[2] == 6);
  CHECK(ncmpi_inq_varoffset(file, second, &offset) == NC_NOERR);
  return offset;
}

}  // namespace

TEST_CASE("a path that is null or empty on one rank fails on all") {
  for (const char* const bad : {static_cast<const char*>(nullptr), ""}) {
    const char* const path = is_last() ? bad : "opening_path.nc";
    int file = -7;
    CHECK(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &file) == NC_EBAD_FILE);
    CHECK(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file) == NC_EBAD_FILE);
    CHECK(file == -7);
    CHECK(ncmpi_delete(bad, MPI_INFO_NULL) != NC_NOERR);
  }
}

TEST_CASE("without a place for the id on one rank nothing is created or opened on any") {
  int file = -7;
  int* const place = is_last() ? nullptr : &file;
  CHECK(ncmpi_create(MPI_COMM_WORLD, "opening_id.nc", NC_CLOBBER, MPI_INFO_NULL, place) == NC_EINVAL);
  CHECK(ncmpi_open(MPI_COMM_WORLD, "opening_id.nc", NC_NOWRITE, MPI_INFO_NULL, place) == NC_EINVAL);
  CHECK(file == -7);
  CHECK(ncmpi_open(MPI_COMM_WORLD, "opening_id.nc", NC_NOWRITE, MPI_INFO_NULL, &file) == NC_ENOENT);
}

TEST_CASE("rank 0's hints are in force on all ranks, and in safe mode others are a disagreement") {
  for (const bool is_safe : {false, true}) {
    const SafeMode safe_mode(is_safe);
    const Info info("nc_var_align_size", std::to_string(1024 * (1 + my_rank())));
    const bool differ = is_safe && !(my_rank() == 0 && is_last());
    int file = -1;
    const int expected = differ ? NC_EMULTIDEFINE_HINTS : NC_NOERR;
    CHECK(ncmpi_create(MPI_COMM_WORLD, "opening_hints.nc", NC_CLOBBER, info, &file) == expected);
    CHECK(use(file) == 1024 + 3 * sizeof(int));  // with another variable, data begins at 1024
    CHECK(value_of_hint(file, "nc_var_align_size") == 1024);
    CHECK(ncmpi_close(file) == NC_NOERR);
    CHECK(ncmpi_open(MPI_COMM_WORLD, "opening_hints.nc", NC_NOWRITE, info, &file) == expected);
    CHECK(value_of_hint(file, "nc_var_align_size") == 1024);
    CHECK(ncmpi_close(file) == NC_NOERR);
  }
}

TEST_CASE("rank 0's hints are in force on all ranks however long they are") {
  const SafeMode safe_mode(false);
  // The hints' text travels with the mode up to 500 bytes; longer text follows separately.
  for (const std::size_t blanks : {1U, 100U, 200U}) {
    const std::string number = my_rank() == 0 ? "2048" : "4096";
    const Info info("nc_var_align_size", number + std::string(blanks, ' ') + ".");
    for (const char* const key : {"a_hint_of_nobody", "b_hint_of_nobody", "c_hint_of_nobody"})
      MPI_Info_set(info, key, std::string(blanks, 'x').c_str());
    int file = 0;
    REQUIRE(ncmpi_create(MPI_COMM_WORLD, "opening_long_hints.nc", NC_CLOBBER, info, &file) == NC_NOERR);
    CHECK(value_of_hint(file, "nc_var_align_size") == 2048);
    CHECK(ncmpi_close(file) == NC_NOERR);
  }
}

TEST_CASE("hints that would have ranks exchange data in different ways do no harm") {
  const Info info("romio_cb_write", my_rank() % 2 == 0 ? "enable" : "disable");
  int file = -1;
  CHECK(ncmpi_create(MPI_COMM_WORLD, "opening_exchange.nc", NC_CLOBBER, info, &file) == NC_NOERR);
  use(file);
  CHECK(ncmpi_close(file) == NC_NOERR);
}

TEST_CASE("of the I/O drivers of later versions those that are none are refused") {
  int file = -1;
  for (const char* const name : {"gio", "mpiio"}) {
    CHECK(ncmpi_create(MPI_COMM_WORLD, "opening_driver.nc", NC_CLOBBER, Info("nc_driver", name), &file) ==
          NC_NOERR);
    CHECK(ncmpi_close(file) == NC_NOERR);
  }
  const Info wrong("nc_driver", "posix");
  CHECK(ncmpi_create(MPI_COMM_WORLD, "opening_driver.nc", NC_CLOBBER, wrong, &file) == NC_EDRIVER);
  CHECK(ncmpi_open(MPI_COMM_WORLD, "opening_driver.nc", NC_NOWRITE, wrong, &file) == NC_EDRIVER);
}

TEST_CASE("safe mode is on unless the variable says 0") {
  if (my_rank() == 0 && is_last()) return;
  const auto create = [](const char* value) {
    setenv("PNETCDF_SAFE_MODE", value, 1);
    int file = -1;
    const int mode = my_rank() == 0 ? NC_64BIT_DATA : 0;
    const int status =
        ncmpi_create(MPI_COMM_WORLD, "opening_safe.nc", NC_CLOBBER | mode, MPI_INFO_NULL, &file);
    CHECK(ncmpi_close(file) == NC_NOERR);
    unsetenv("PNETCDF_SAFE_MODE");
    return status;
  };
  const int own = my_rank() == 0 ? NC_NOERR : NC_EMULTIDEFINE_CMODE;
  CHECK(create("0") == own);
  CHECK(create("1") == NC_EMULTIDEFINE_CMODE);
  CHECK(create("") == NC_EMULTIDEFINE_CMODE);
  CHECK(create("yes") == NC_EMULTIDEFINE_CMODE);
}

TEST_CASE("rank 0 decides on safe mode for all ranks") {
  const bool is_compared = !(my_rank() == 0 && is_last());
  for (const bool is_safe : {true, false}) {
    const SafeMode mode((my_rank() == 0) == is_safe);
    int file = -1;
    int dimension = -1;
    REQUIRE(ncmpi_create(MPI_COMM_WORLD, "opening_safe_root.nc", NC_CLOBBER, MPI_INFO_NULL, &file) ==
            NC_NOERR);
    CHECK(ncmpi_def_dim(file, "x", 4, &dimension) == NC_NOERR);
    CHECK(ncmpi_def_dim(file, my_rank() == 0 ? "y" : "z", 4, &dimension) ==
          (is_safe && is_compared ? NC_EMULTIDEFINE_DIM_NAME : NC_NOERR));
    (void)ncmpi_close(file);  // the headers differ where no rank compares
    REQUIRE(ncmpi_create(MPI_COMM_WORLD, "opening_safe_root.nc", NC_CLOBBER, MPI_INFO_NULL, &file) ==
            NC_NOERR);
    REQUIRE(ncmpi_close(file) == NC_NOERR);
    CHECK(ncmpi_open(MPI_COMM_WORLD, "opening_safe_root.nc", NC_NOWRITE, MPI_INFO_NULL, &file) == NC_NOERR);
    CHECK(ncmpi_close(file) == NC_NOERR);
  }
}
