#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::coordinator {

/// What an ELF file says about how it will be loaded. Source: the ELF-64 object file format and its gABI.
struct ElfFacts {
  bool is_this_machine = false;     ///< 64 bits, this byte order and this processor: can load our library
  std::string interpreter;          ///< the dynamic loader; empty for a statically linked program
  std::vector<std::string> needed;  ///< shared libraries that it names itself
  bool defines_pnetcdf = false;     ///< ncmpi_create is a part of the program: PnetCDF was linked statically
  bool has_symbol_table = false;    ///< false: stripped, so that `defines_pnetcdf` may be unknown
};

/// Reads them; nothing when the file is no ELF file or is damaged.
[[nodiscard]] std::optional<ElfFacts> read_elf_facts(const std::filesystem::path& path);

/// Whether the file contains a text that every PnetCDF library carries; tells a statically linked PnetCDF
/// even in a stripped program.
[[nodiscard]] bool contains_pnetcdf_text(const std::filesystem::path& path);

}  // namespace sluice::coordinator
