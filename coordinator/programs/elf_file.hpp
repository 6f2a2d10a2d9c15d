#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::coordinator {

/// The facts of an ELF file that decide how the loader loads it. Source: the ELF-64 object file format and
/// its gABI.
struct ElfFacts {
  bool is_this_machine = false;  ///< 64 bits, with the byte order and processor of this machine: the program
                                 ///< can load our library
  std::string interpreter;       ///< the dynamic loader; empty for a statically linked program
  std::vector<std::string> needed;  ///< shared libraries that the file itself names
  bool defines_pnetcdf = false;     ///< the program contains ncmpi_create: PnetCDF was linked statically
  bool has_symbol_table = false;    ///< false: the file is stripped, and `defines_pnetcdf` may be unknown
};

/// Reads the facts of the file at `path`. Returns nothing if the file is damaged or is not an ELF file.
[[nodiscard]] std::optional<ElfFacts> read_elf_facts(const std::filesystem::path& path);

/// Whether the file contains a text that every PnetCDF library contains. The text reveals a statically linked
/// PnetCDF even in a stripped program.
[[nodiscard]] bool contains_pnetcdf_text(const std::filesystem::path& path);

}  // namespace sluice::coordinator
