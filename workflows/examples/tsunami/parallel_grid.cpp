#include "parallel_grid.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace tsunami {

namespace {

struct Range {
  int first, count;
};

/// Part number `part` when `length` is divided into `parts` contiguous, nearly equal parts.
Range part_of(int length, int part, int parts) {
  const int first = static_cast<int>(static_cast<long long>(length) * part / parts);
  const int end = static_cast<int>(static_cast<long long>(length) * (part + 1) / parts);
  return {first, end - first};
}

}  // namespace

ParallelGrid::ParallelGrid(Grid grid, MPI_Comm comm) : grid_(std::move(grid)) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  std::array<int, 2> parts{0, 0};
  MPI_Dims_create(size, 2, parts.data());
  if (parts[0] > grid_.rows() || parts[1] > grid_.columns()) {
    throw std::invalid_argument("a grid of " + std::to_string(grid_.rows()) + " x " +
                                std::to_string(grid_.columns()) + " cells is too small for " +
                                std::to_string(size) + " ranks; use fewer ranks");
  }
  const std::array<int, 2> periodic{0, grid_.is_periodic ? 1 : 0};
  MPI_Cart_create(comm, 2, parts.data(), periodic.data(), 0, &cartesian_);
  MPI_Comm_rank(cartesian_, &rank_);
  std::array<int, 2> position{};
  MPI_Cart_coords(cartesian_, rank_, 2, position.data());
  MPI_Cart_shift(cartesian_, 0, 1, &south_, &north_);
  MPI_Cart_shift(cartesian_, 1, 1, &west_, &east_);
  const auto rows = part_of(grid_.rows(), position[0], parts[0]);
  const auto columns = part_of(grid_.columns(), position[1], parts[1]);
  first_row_ = rows.first, rows_ = rows.count;
  first_column_ = columns.first, columns_ = columns.count;
}

ParallelGrid::~ParallelGrid() {
  if (cartesian_ != MPI_COMM_NULL) MPI_Comm_free(&cartesian_);
}

double ParallelGrid::latitude(int row) const {
  return grid_.latitude.front() + (first_row_ + row - 1) * grid_.spacing_latitude();
}

void ParallelGrid::exchange(Field& field) const {
  exchange_columns(field);
  exchange_rows(field);  // exchanges whole rows with the new halo columns: this fills the corners
}

void ParallelGrid::exchange_columns(Field& field) const {
  const auto n = static_cast<std::size_t>(rows_);
  std::vector<double> to_west(n), to_east(n), from_west(n), from_east(n);
  for (int j = 1; j <= rows_; ++j) {
    to_west[static_cast<std::size_t>(j - 1)] = field(j, 1);
    to_east[static_cast<std::size_t>(j - 1)] = field(j, columns_);
  }
  MPI_Sendrecv(to_west.data(), rows_, MPI_DOUBLE, west_, 1, from_east.data(), rows_, MPI_DOUBLE, east_, 1,
               cartesian_, MPI_STATUS_IGNORE);
  MPI_Sendrecv(to_east.data(), rows_, MPI_DOUBLE, east_, 2, from_west.data(), rows_, MPI_DOUBLE, west_, 2,
               cartesian_, MPI_STATUS_IGNORE);
  for (int j = 1; j <= rows_; ++j) {
    if (east_ != MPI_PROC_NULL) field(j, columns_ + 1) = from_east[static_cast<std::size_t>(j - 1)];
    if (west_ != MPI_PROC_NULL) field(j, 0) = from_west[static_cast<std::size_t>(j - 1)];
  }
}

void ParallelGrid::exchange_rows(Field& field) const {
  const int n = columns_ + 2;
  MPI_Sendrecv(&field(1, 0), n, MPI_DOUBLE, south_, 3, &field(rows_ + 1, 0), n, MPI_DOUBLE, north_, 3,
               cartesian_, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&field(rows_, 0), n, MPI_DOUBLE, north_, 4, &field(0, 0), n, MPI_DOUBLE, south_, 4, cartesian_,
               MPI_STATUS_IGNORE);
}

}  // namespace tsunami
