// A collective call with a mistake on one rank: that rank gets the status, the others' data arrives, and no
// rank hangs.
#include <doctest/doctest.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr int columns = 4;

enum class Mistake {
  none,
  bad_variable,
  global_variable,
  bad_start,
  bad_count,
  negative_count,
  bad_stride,
  no_start,
  bad_type,
  bad_amount,
  mixed_text,
  empty
};

struct Case {
  Mistake mistake;
  const char* name;
  int status;
};

constexpr Case cases[] = {
    {Mistake::none, "none", NC_NOERR},
    {Mistake::bad_variable, "a variable that is not there", NC_ENOTVAR},
    {Mistake::global_variable, "NC_GLOBAL", NC_EGLOBAL},
    {Mistake::bad_start, "a start beyond the end", NC_EINVALCOORDS},
    {Mistake::bad_count, "too many elements", NC_EEDGE},
    {Mistake::negative_count, "a negative count", NC_ENEGATIVECNT},
    {Mistake::bad_stride, "a stride of 0", NC_ESTRIDE},
    {Mistake::no_start, "no start", NC_EINVALCOORDS},
    {Mistake::bad_type, "a buffer of packed data", NC_EUNSPTETYPE},
    {Mistake::bad_amount, "a buffer of another size", NC_EIOMISMATCH},
    {Mistake::mixed_text, "text as numbers", NC_ECHAR},
    {Mistake::empty, "no elements", NC_NOERR},
};

/// A file with a fixed and a record variable. Each rank has a row of each.
class OpenFile {
 public:
  explicit OpenFile(const char* path) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    is_last = rank == ranks - 1;
    int t = -1;
    int x = -1;
    int y = -1;
    REQUIRE(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id) == NC_NOERR);
    REQUIRE(ncmpi_def_dim(id, "t", NC_UNLIMITED, &t) == NC_NOERR);
    REQUIRE(ncmpi_def_dim(id, "x", ranks, &x) == NC_NOERR);
    REQUIRE(ncmpi_def_dim(id, "y", columns, &y) == NC_NOERR);
    const int of_fixed[] = {x, y};
    const int of_record[] = {t, x, y};
    REQUIRE(ncmpi_def_var(id, "fixed", NC_INT, 2, of_fixed, &fixed) == NC_NOERR);
    REQUIRE(ncmpi_def_var(id, "record", NC_INT, 3, of_record, &record) == NC_NOERR);
    REQUIRE(ncmpi_enddef(id) == NC_NOERR);
  }
  ~OpenFile() { CHECK(ncmpi_close(id) == NC_NOERR); }

  [[nodiscard]] MPI_Offset records() const {
    MPI_Offset length = -1;
    CHECK(ncmpi_inq_dimlen(id, 0, &length) == NC_NOERR);
    return length;
  }

  int id = -1;
  int fixed = -1;
  int record = -1;
  int rank = 0;
  int ranks = 1;
  bool is_last = false;
};

/// The arguments of one rank's access to its row, with a mistake.
struct Row {
  std::array<MPI_Offset, 3> start{};
  std::array<MPI_Offset, 3> count{1, 1, 1};
  std::array<MPI_Offset, 3> stride{1, 1, 1};
  const MPI_Offset* start_argument = nullptr;
  int varid = -1;
  MPI_Datatype type = MPI_INT;
  MPI_Offset amount = columns;

  Row(const OpenFile& file, bool has_records, MPI_Offset record, Mistake mistake) {
    const std::size_t d = has_records ? 1 : 0;
    if (has_records) start[0] = record;
    start[d] = file.rank;
    count[d + 1] = columns;
    varid = has_records ? file.record : file.fixed;
    if (mistake == Mistake::bad_variable) varid = 99;
    if (mistake == Mistake::global_variable) varid = NC_GLOBAL;
    if (mistake == Mistake::bad_start) start[d] = file.ranks;
    if (mistake == Mistake::bad_count) count[d] = 2;
    if (mistake == Mistake::negative_count) count[d] = -1;
    if (mistake == Mistake::bad_stride) stride[d] = 0;
    if (mistake == Mistake::bad_type) type = MPI_PACKED;
    if (mistake == Mistake::bad_amount) amount = columns - 1;
    if (mistake == Mistake::mixed_text) type = MPI_CHAR;
    if (mistake == Mistake::empty) count[d] = amount = 0;
    start_argument = mistake == Mistake::no_start ? nullptr : start.data();
  }
};

std::vector<int> values_of(int rank, int seed) {
  std::vector<int> values(columns);
  std::iota(values.begin(), values.end(), 1000 * seed + 10 * rank);
  return values;
}

}  // namespace

TEST_CASE("puts and gets of all go on when the last rank makes a mistake") {
  const OpenFile file("one_rank_wrong.nc");
  int seed = 0;
  for (const bool has_records : {false, true}) {
    for (const auto& [mistake, name, status] : cases) {
      const std::string told(name);  // clang 14 captures no bindings
      INFO("mistake of the last rank: ", told, ", variable with records: ", has_records);
      const MPI_Offset record = ++seed;
      const bool is_mine = file.is_last && mistake != Mistake::none;
      const Row correct(file, has_records, record, Mistake::none);
      const Row row(file, has_records, record, is_mine ? mistake : Mistake::none);
      const auto before = values_of(file.rank, -seed);
      CHECK(ncmpi_put_vara_all(file.id, correct.varid, correct.start.data(), correct.count.data(),
                               before.data(), columns, MPI_INT) == NC_NOERR);
      const auto values = values_of(file.rank, seed);
      const int expected = is_mine ? status : NC_NOERR;
      CHECK(ncmpi_put_vars_all(file.id, row.varid, row.start_argument, row.count.data(), row.stride.data(),
                               values.data(), row.amount, row.type) == expected);
      if (has_records) CHECK(file.records() == record + 1);
      std::vector<int> read(columns, -1);
      CHECK(ncmpi_get_vars_all(file.id, row.varid, row.start_argument, row.count.data(), row.stride.data(),
                               read.data(), row.amount, row.type) == expected);
      if (!is_mine) CHECK(read == values);
      CHECK(ncmpi_get_vara_all(file.id, correct.varid, correct.start.data(), correct.count.data(),
                               read.data(), columns, MPI_INT) == NC_NOERR);
      CHECK(read == (is_mine ? before : values));
    }
  }
}

TEST_CASE("ranks may put to different variables in one collective call, of records and not") {
  const OpenFile file("different_variables.nc");
  const auto values = values_of(file.rank, 3);
  for (MPI_Offset record = 0; record < 4; ++record) {
    const bool has_records = (file.rank + record) % 2 == 0;
    const Row row(file, has_records, record, Mistake::none);
    CHECK(ncmpi_put_vara_int_all(file.id, row.varid, row.start.data(), row.count.data(), values.data()) ==
          NC_NOERR);
    const bool some_have = file.ranks > 1 || has_records;
    if (some_have) CHECK(file.records() == record + 1);
  }
}

TEST_CASE("a wait of all goes on when the last rank names requests that are none, or has none") {
  const OpenFile file("wait.nc");
  for (const bool is_wrong : {true, false}) {
    const auto values = values_of(file.rank, is_wrong ? 1 : 2);
    const Row row(file, true, is_wrong ? 0 : 1, Mistake::none);
    std::vector<int> read(columns, -1);
    const bool is_mine = file.is_last && file.ranks > 1;
    int requests[2] = {is_wrong ? 77 : NC_REQ_NULL, NC_REQ_NULL};
    int statuses[2] = {-1, -1};
    if (!is_mine) {
      CHECK(ncmpi_iput_vara_int(file.id, row.varid, row.start.data(), row.count.data(), values.data(),
                                &requests[0]) == NC_NOERR);
    }
    CHECK(ncmpi_wait_all(file.id, 2, requests, statuses) ==
          (is_mine && is_wrong ? NC_EINVAL_REQUEST : NC_NOERR));
    CHECK(statuses[0] == (is_mine && is_wrong ? NC_EINVAL_REQUEST : NC_NOERR));
    CHECK(file.records() == (is_wrong ? 1 : 2));
    CHECK(ncmpi_get_vara_int_all(file.id, row.varid, row.start.data(), row.count.data(), read.data()) ==
          NC_NOERR);
    if (!is_mine) CHECK(read == values);
  }
}

TEST_CASE("ranks whose attributes have other lengths write to the same places") {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const char* const layout : {"", "blob", "blob-process"}) {
    for (const MPI_Offset length : {20, 3000}) {
      CAPTURE(layout);
      CAPTURE(length);
      int id = 0, dimension = 0, variable = 0;
      MPI_Info info = MPI_INFO_NULL;
      MPI_Info_create(&info);
      if (*layout != '\0') MPI_Info_set(info, "sluice_layout", layout);
      REQUIRE(ncmpi_create(MPI_COMM_WORLD, "attributes.nc", NC_CLOBBER, info, &id) == NC_NOERR);
      MPI_Info_free(&info);
      REQUIRE(ncmpi_def_dim(id, "x", ranks, &dimension) == NC_NOERR);
      REQUIRE(ncmpi_def_var(id, "v", NC_INT, 1, &dimension, &variable) == NC_NOERR);
      const std::string text(static_cast<std::size_t>(rank == 0 ? 10 : length), 'a');
      REQUIRE(ncmpi_put_att_text(id, NC_GLOBAL, "history", static_cast<MPI_Offset>(text.size()),
                                 text.data()) == NC_NOERR);
      REQUIRE(ncmpi_enddef(id) == NC_NOERR);
      const MPI_Offset start = rank, count = 1;
      const int value = 100 + rank;
      CHECK(ncmpi_put_vara_int_all(id, variable, &start, &count, &value) == NC_NOERR);
      CHECK(ncmpi_close(id) == NC_NOERR);
      std::vector<int> all(static_cast<std::size_t>(ranks)), wanted(all);
      std::iota(wanted.begin(), wanted.end(), 100);
      REQUIRE(ncmpi_open(MPI_COMM_WORLD, "attributes.nc", NC_NOWRITE, MPI_INFO_NULL, &id) == NC_NOERR);
      CHECK(ncmpi_get_var_int_all(id, variable, all.data()) == NC_NOERR);
      CHECK(all == wanted);
      CHECK(ncmpi_close(id) == NC_NOERR);
    }
  }
}
