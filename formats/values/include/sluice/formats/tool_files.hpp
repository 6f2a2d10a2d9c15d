#pragma once
#include <string_view>

namespace sluice::formats {

/// Whether the file belongs to the system, to Sluice, an MPI or an interpreter, by its path alone. No rule
/// covers such a file, whatever its pattern. `path`: absolute.
[[nodiscard]] bool is_tool_file(std::string_view path) noexcept;

/// Whether the pattern has wildcards, '.' and '/' alone, as "*" and "*.*" have.
[[nodiscard]] bool is_any_name(std::string_view pattern) noexcept;

/// Whether the file is where programs lie that a shell finds by their names (PATH, bin), or beside these, is
/// a hidden one of the user's home, or lies in the root directory. A pattern of wildcards alone does not
/// cover such a file. `path`: absolute. `search_path`: PATH. `home`: HOME. `here`: the working directory,
/// which may be in PATH and has data.
[[nodiscard]] bool is_place_of_programs(std::string_view path, std::string_view search_path,
                                        std::string_view home, std::string_view here) noexcept;

/// Whether the name ends as that of a program's text or code does. A pattern of wildcards alone does not
/// cover such a file.
[[nodiscard]] bool is_program_text(std::string_view path) noexcept;

}  // namespace sluice::formats
