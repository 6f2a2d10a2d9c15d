#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sluice::storage {

/// A cell of a line whose cells are separated by tabs: a tab, a line feed and a backslash are \t, \n and \\.
[[nodiscard]] std::string encode_cell(std::string_view text);
/// The text of such a cell.
[[nodiscard]] std::string decode_cell(std::string_view cell);
/// The texts of all cells of a line, which has no line feed.
[[nodiscard]] std::vector<std::string> decode_cells(std::string_view line);

}  // namespace sluice::storage
