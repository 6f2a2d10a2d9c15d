#pragma once
#include <cstdint>
#include <string>

namespace sluice::matcher {

/// The write hint (F_SET_RW_HINT) of a file of the run, which means nothing in memory, says how many names it
/// has, because the kernel knows of none. Other hints are of files with one name.
constexpr std::uint64_t mark_of_no_name = 1, mark_of_most_names = 4;
[[nodiscard]] constexpr std::uint64_t mark_of_names(std::uint64_t names) noexcept {
  if (names <= 1) return names == 0 ? mark_of_no_name : 0;
  return names < mark_of_most_names ? names : mark_of_most_names;
}
[[nodiscard]] constexpr std::uint32_t names_of_mark(std::uint64_t mark) noexcept {
  if (mark == mark_of_no_name) return 0;
  return mark == 0 || mark > mark_of_most_names ? 1 : static_cast<std::uint32_t>(mark);
}

/// In place of a path: the file that has these numbers (st_dev, st_ino).
[[nodiscard]] inline std::string path_of_numbers(std::uint64_t device, std::uint64_t file) {
  return "file " + std::to_string(device) + ' ' + std::to_string(file);
}

}  // namespace sluice::matcher
