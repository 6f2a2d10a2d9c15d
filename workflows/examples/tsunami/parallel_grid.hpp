#pragma once
#include <mpi.h>

#include <cstddef>
#include <vector>

namespace tsunami {

/// A regular latitude-longitude grid: cell centres, degrees. `is_periodic`: the last column is the western
/// neighbour of the first.
struct Grid {
  std::vector<double> longitude;  ///< degrees east, ascending
  std::vector<double> latitude;   ///< degrees north, ascending
  bool is_periodic = false;
  [[nodiscard]] int columns() const noexcept { return static_cast<int>(longitude.size()); }
  [[nodiscard]] int rows() const noexcept { return static_cast<int>(latitude.size()); }
  [[nodiscard]] double spacing_longitude() const {
    return (longitude.back() - longitude.front()) / (columns() - 1);
  }
  [[nodiscard]] double spacing_latitude() const {
    return (latitude.back() - latitude.front()) / (rows() - 1);
  }
};

/// A field on this rank's block with a frame of one halo cell: rows 0 … rows+1, columns 0 … columns+1; the
/// block itself is 1 … rows, 1 … columns.
class Field {
 public:
  Field() = default;
  Field(int rows, int columns)
      : rows_(rows),
        columns_(columns),
        values_(static_cast<std::size_t>(rows + 2) * static_cast<std::size_t>(columns + 2)) {}
  double& operator()(int row, int column) { return values_[index(row, column)]; }
  double operator()(int row, int column) const { return values_[index(row, column)]; }
  [[nodiscard]] int rows() const noexcept { return rows_; }
  [[nodiscard]] int columns() const noexcept { return columns_; }

 private:
  [[nodiscard]] std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_ + 2) +
           static_cast<std::size_t>(column);
  }
  int rows_ = 0, columns_ = 0;
  std::vector<double> values_;
};

/// A grid divided into blocks in two dimensions over the ranks of a communicator.
class ParallelGrid {
 public:
  /// Collective over `comm`. Throws std::invalid_argument if a direction has more ranks than cells.
  ParallelGrid(Grid grid, MPI_Comm comm);
  ~ParallelGrid();
  ParallelGrid(const ParallelGrid&) = delete;
  ParallelGrid& operator=(const ParallelGrid&) = delete;

  [[nodiscard]] const Grid& grid() const noexcept { return grid_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return cartesian_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// Size and global position of this rank's block.
  [[nodiscard]] int rows() const noexcept { return rows_; }
  [[nodiscard]] int columns() const noexcept { return columns_; }
  [[nodiscard]] int first_row() const noexcept { return first_row_; }
  [[nodiscard]] int first_column() const noexcept { return first_column_; }
  [[nodiscard]] Field field() const { return {rows_, columns_}; }
  /// Latitude of a block row in degrees (0 and rows+1: halo, extrapolated at the edge of the grid).
  [[nodiscard]] double latitude(int row) const;

  /// Fills the halo (corners included) from the neighbours. At a closed edge the halo keeps its values.
  /// Collective.
  void exchange(Field& field) const;

 private:
  void exchange_columns(Field& field) const;
  void exchange_rows(Field& field) const;

  Grid grid_;
  MPI_Comm cartesian_ = MPI_COMM_NULL;
  int rank_ = 0;
  int west_ = MPI_PROC_NULL, east_ = MPI_PROC_NULL, south_ = MPI_PROC_NULL, north_ = MPI_PROC_NULL;
  int rows_ = 0, columns_ = 0, first_row_ = 0, first_column_ = 0;
};

}  // namespace tsunami
