#pragma once
// Lists of boxes that many variables share.
#include <cstdint>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::test {

/// A variable's shape.
struct Grid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  /// Single elements, every second one of a row, so that no two are neighbours.
  [[nodiscard]] std::vector<formats::Hyperslab> dotted(std::int64_t first_row, std::int64_t row_count,
                                                       std::int64_t first_column) const {
    std::vector<formats::Hyperslab> boxes;
    for (std::int64_t row = first_row; row < first_row + row_count; ++row) {
      for (std::int64_t column = first_column; column < columns; column += 2)
        boxes.push_back({{row, column}, {1, 1}, {}});
    }
    return boxes;
  }
  /// Rows, from the last to the first.
  [[nodiscard]] std::vector<formats::Hyperslab> whole_rows() const {
    std::vector<formats::Hyperslab> boxes;
    for (std::int64_t row = rows; row-- > 0;) boxes.push_back({{row, 0}, {1, columns}, {}});
    return boxes;
  }
};

}  // namespace sluice::test
