#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "environment.hpp"
#include "mpi_family.hpp"

namespace sluice::coordinator {

/// The results of an inspection of a program that does not run.
struct Inspection {
  std::string kind;  ///< "linked with libpnetcdf.so.0d", "a script for /usr/bin/python3", …
  std::vector<std::string>
      mistakes;  ///< reasons why the program cannot run or cannot be coupled; each says what to do
  std::vector<std::string> notes;
  std::optional<MpiFamily> mpi;  ///< what the program, or what it starts, has
  bool is_mpi_linked = false;    ///< `mpi` is certain: the program itself is linked with it
  bool is_static = false;        ///< no library can be loaded into it
  bool may_use_pnetcdf = false;  ///< the program, or one that its command or its text names, has PnetCDF
};

/// What the file rules say of a program's component.
enum class Coupling {
  none,
  exposed,  ///< it reads by rules with `expose: true` only
  reader,   ///< it writes by no rule
  writer
};

/// Inspects the executable at `path`, started with `environment`.
[[nodiscard]] Inspection inspect_program(const std::filesystem::path& path, const Environment& environment,
                                         Coupling coupling);

}  // namespace sluice::coordinator
