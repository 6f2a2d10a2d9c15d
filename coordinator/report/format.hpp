#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::coordinator {

/// "0 B", "640 B", "1.2 KiB", "3.40 GiB".
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// "0.4 s", "12.3 s", "2 min 05 s", "3 h 07 min".
[[nodiscard]] std::string format_duration(std::chrono::milliseconds duration);

/// The same for a number of milliseconds; "640 ms" below one second.
[[nodiscard]] std::string format_milliseconds(std::uint64_t milliseconds);

/// The text in double quotes, for YAML.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The command on one line, as a user would type it into a shell.
[[nodiscard]] std::string as_shell_command(const std::vector<std::string>& words);

/// The name of this machine; empty where the system does not tell.
[[nodiscard]] std::string host_name();

/// The length of the UTF-8 character at the beginning of the text, in bytes; 0: it is none.
[[nodiscard]] std::size_t utf8_character_bytes(std::string_view text) noexcept;

/// The text for a terminal. Names in damaged files may have bytes that are no UTF-8, or that command a
/// terminal: these become "\xff". Ends of lines and tabs stay.
[[nodiscard]] std::string printable(std::string_view text);
/// The same in one line: ends of lines become "\n", tabs "\t".
[[nodiscard]] std::string printable_in_line(std::string_view text);

/// "1 file", "3 files".
[[nodiscard]] std::string format_count(std::uint64_t count, const std::string& singular);

/// Formats rows of cells as lines with aligned columns, two blanks apart. The first column is flush left;
/// columns in `right` (numbers) are flush right.
[[nodiscard]] std::string format_table(std::vector<std::vector<std::string>> rows,
                                       const std::vector<bool>& right);

}  // namespace sluice::coordinator
