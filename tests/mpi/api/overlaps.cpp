// Overlapping puts of one process, in one wait or one list: the later one wins.
#include <doctest/doctest.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <array>
#include <random>
#include <vector>

#include "support/seed.hpp"

namespace {

constexpr int rows = 6;
constexpr int columns = 8;

struct Box {
  std::array<MPI_Offset, 2> start;  // in this rank's rows
  std::array<MPI_Offset, 2> count;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Box box() {
    Box box{};
    const std::array<MPI_Offset, 2> shape{rows, columns};
    for (std::size_t d = 0; d < 2; ++d) {
      box.start[d] = between(0, shape[d] - 1);
      box.count[d] = between(1, shape[d] - box.start[d]);
    }
    return box;
  }

 private:
  MPI_Offset between(MPI_Offset least, MPI_Offset greatest) {
    return std::uniform_int_distribution<MPI_Offset>(least, greatest)(random_);
  }
  std::mt19937 random_;
};

void put_into(std::vector<int>& reference, const Box& box, int value) {
  for (MPI_Offset i = 0; i < box.count[0]; ++i) {
    for (MPI_Offset k = 0; k < box.count[1]; ++k) {
      reference[static_cast<std::size_t>((box.start[0] + i) * columns + box.start[1] + k)] = value;
    }
  }
}

}  // namespace

TEST_CASE("later puts win over earlier ones of the same wait or list") {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::uint64_t seed = rank == 0 ? sluice::test::test_seed() : 0;
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  Generator generator(seed + static_cast<std::uint64_t>(rank));

  int id = -1;
  int x = -1;
  int y = -1;
  int varid = -1;
  REQUIRE(ncmpi_create(MPI_COMM_WORLD, "overlaps.nc", NC_CLOBBER, MPI_INFO_NULL, &id) == NC_NOERR);
  REQUIRE(ncmpi_def_dim(id, "x", ranks * rows, &x) == NC_NOERR);
  REQUIRE(ncmpi_def_dim(id, "y", columns, &y) == NC_NOERR);
  const int dimids[] = {x, y};
  REQUIRE(ncmpi_def_var(id, "v", NC_INT, 2, dimids, &varid) == NC_NOERR);
  REQUIRE(ncmpi_enddef(id) == NC_NOERR);

  const std::array<MPI_Offset, 2> whole_start{rank * rows, 0};
  const std::array<MPI_Offset, 2> whole_count{rows, columns};
  std::vector<int> reference(rows * columns, -1);
  REQUIRE(ncmpi_put_vara_int_all(id, varid, whole_start.data(), whole_count.data(), reference.data()) ==
          NC_NOERR);
  for (int round = 0; round < 40; ++round) {
    constexpr int n = 5;
    std::array<Box, n> boxes;
    std::array<MPI_Offset*, n> starts;
    std::array<MPI_Offset*, n> counts;
    std::vector<int> list_values;
    std::array<std::vector<int>, n> values;
    for (std::size_t i = 0; i < n; ++i) {
      boxes[i] = generator.box();
      const int value = 100 * round + static_cast<int>(i);
      put_into(reference, boxes[i], value);
      boxes[i].start[0] += rank * rows;
      starts[i] = boxes[i].start.data();
      counts[i] = boxes[i].count.data();
      values[i].assign(static_cast<std::size_t>(boxes[i].count[0] * boxes[i].count[1]), value);
      list_values.insert(list_values.end(), values[i].begin(), values[i].end());
    }
    if (round % 2 == 0) {
      CHECK(ncmpi_put_varn_int_all(id, varid, n, starts.data(), counts.data(), list_values.data()) ==
            NC_NOERR);
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(ncmpi_iput_vara_int(id, varid, starts[i], counts[i], values[i].data(), nullptr) == NC_NOERR);
      }
      CHECK(ncmpi_wait_all(id, NC_REQ_ALL, nullptr, nullptr) == NC_NOERR);
    }
    std::vector<int> read(rows * columns);
    CHECK(ncmpi_get_vara_int_all(id, varid, whole_start.data(), whole_count.data(), read.data()) == NC_NOERR);
    CHECK(read == reference);
  }
  CHECK(ncmpi_close(id) == NC_NOERR);
}
