#pragma once
#include <string_view>

namespace sluice::formats {

/// Whether the file belongs to the system, to Sluice, an MPI or an interpreter, by its path alone. No rule
/// covers such a file, whatever its pattern. `path`: absolute.
[[nodiscard]] bool is_tool_file(std::string_view path) noexcept;

/// Whether the pattern has wildcards and '/' alone, as "*" has.
[[nodiscard]] bool is_any_name(std::string_view pattern) noexcept;

/// Whether the name ends as that of a program's text or code does. A pattern of wildcards alone does not
/// cover such a file.
[[nodiscard]] bool is_program_text(std::string_view path) noexcept;

}  // namespace sluice::formats
