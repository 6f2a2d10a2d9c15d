#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::coordinator {

/// "0 B", "640 B", "1.2 KiB", "3.40 GiB".
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// "0.4 s", "12.3 s", "2 min 05 s", "3 h 07 min".
[[nodiscard]] std::string format_duration(std::chrono::milliseconds duration);

/// "1 file", "3 files".
[[nodiscard]] std::string format_count(std::uint64_t count, const std::string& singular);

/// Rows of cells as lines with aligned columns, two blanks apart: the first column flush left, numbers
/// (columns in `right`) flush right.
[[nodiscard]] std::string format_table(const std::vector<std::vector<std::string>>& rows,
                                       const std::vector<bool>& right);

}  // namespace sluice::coordinator
