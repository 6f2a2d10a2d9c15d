#include "sluice/storage/tab_line.hpp"

namespace sluice::storage {

std::string encode_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '\t' || c == '\n' || c == '\\') {
      cell += c == '\t' ? "\\t" : c == '\n' ? "\\n" : "\\\\";
    } else {
      cell += c;
    }
  }
  return cell;
}

std::string decode_cell(std::string_view cell) {
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != '\\' || i + 1 == cell.size()) {
      text += cell[i];
    } else {
      ++i;
      text += cell[i] == 't' ? '\t' : cell[i] == 'n' ? '\n' : cell[i];
    }
  }
  return text;
}

std::vector<std::string> decode_cells(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const std::size_t tab = line.find('\t');
    cells.push_back(decode_cell(line.substr(0, tab)));
    if (tab == std::string_view::npos) return cells;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace sluice::storage
