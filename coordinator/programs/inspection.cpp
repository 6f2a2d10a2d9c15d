#include "inspection.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "elf_file.hpp"
#include "program_lookup.hpp"
#include "shared_libraries.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* relink =
    "link it with the shared library (-lpnetcdf with libpnetcdf.so, without -static and libpnetcdf.a)";

bool is_pnetcdf(const std::string& library) {
  return library.starts_with("libpnetcdf.so") || library.starts_with("libsluice_pnetcdf");
}

/// Finds the program's MPI. Libraries of two MPIs come together where a library, such as PnetCDF, was built
/// for another MPI than the program.
void inspect_mpi(const ElfFacts& facts, const std::vector<std::string>& libraries, Inspection& result) {
  const auto own = find_mpi_family(facts.needed);
  const auto all = find_mpi_family(libraries);
  std::vector<std::string> others;
  std::ranges::copy_if(libraries, std::back_inserter(others), [&](const std::string& library) {
    const auto family = find_mpi_family({library});
    return own && family && family != own;
  });
  result.mpi = own ? own : all;
  result.is_mpi_linked = result.mpi.has_value();
  if (!others.empty())
    result.mistakes.push_back(
        "linked with " + std::string(name_of(*own)) + ", but " + others.front() +
        ", which another library needs, is of another MPI: link libraries that were built "
        "for the program's MPI");
}

void inspect_dynamic(const std::filesystem::path& path, const ElfFacts& facts, const Environment& environment,
                     Coupling coupling, Inspection& result) {
  std::vector<std::string> libraries = facts.needed;
  for (const SharedLibrary& library : find_shared_libraries(facts.interpreter, path, environment)) {
    libraries.push_back(library.name);
    if (library.is_found) continue;
    result.mistakes.push_back("the library " + library.name +
                              " was not found: install the library, or set LD_LIBRARY_PATH in 'environment'");
  }
  inspect_mpi(facts, libraries, result);
  const auto direct = std::find_if(facts.needed.begin(), facts.needed.end(), is_pnetcdf);
  const auto any = std::find_if(libraries.begin(), libraries.end(), is_pnetcdf);
  result.may_use_pnetcdf = any != libraries.end();
  if (direct != facts.needed.end()) {
    result.kind = "linked with " + *direct;
  } else if (any != libraries.end()) {
    result.kind = "uses " + *any + " through another library";
  } else if (!facts.has_symbol_table && contains_pnetcdf_text(path)) {
    result.kind = "contains PnetCDF";
    if (coupling != Coupling::none)
      result.mistakes.push_back(
          std::string("PnetCDF seems to be linked statically, so Sluice cannot replace PnetCDF: ") + relink);
  } else {
    result.kind = "not linked with PnetCDF";
  }
}

void inspect_elf(const std::filesystem::path& path, const ElfFacts& facts, const Environment& environment,
                 Coupling coupling, Inspection& result) {
  struct stat status {};
  const bool changes_user = ::stat(path.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0;
  if (!facts.is_this_machine) {
    result.kind = "for another kind of machine";
    result.mistakes.emplace_back(
        "built for another kind of machine, so Sluice's library cannot be loaded: build the program for "
        "this machine");
  } else if (facts.defines_pnetcdf) {
    result.kind = "contains PnetCDF";
    if (coupling != Coupling::none)
      result.mistakes.push_back(
          std::string("PnetCDF is linked statically, so Sluice cannot replace PnetCDF: ") + relink);
  } else if (facts.interpreter.empty()) {
    result.kind = "statically linked";
    result.is_static = true;
    if (coupling != Coupling::none && coupling != Coupling::exposed)
      result.mistakes.push_back(std::string("statically linked, so Sluice's library cannot be loaded: ") +
                                (coupling == Coupling::reader
                                     ? "give the rules by which it reads 'expose: true', use a dynamically "
                                       "linked program, or, for PnetCDF, "
                                     : "") +
                                relink);
  } else {
    inspect_dynamic(path, facts, environment, coupling, result);
  }
  if (changes_user && coupling != Coupling::none)
    result.mistakes.emplace_back(
        "set-user-id or set-group-id: the loader ignores LD_PRELOAD for this program. Remove the bit (chmod "
        "ug-s)");
}

/// Inspects a script; the word after "#!" is its interpreter.
void inspect_script(const std::string& first_line, Inspection& result) {
  std::istringstream words(first_line.substr(2));
  std::string interpreter;
  std::string argument;
  words >> interpreter >> argument;
  if (first_line.back() == '\r') {
    result.kind = "a script";
    result.mistakes.emplace_back(
        "the first line ends in a carriage return, which becomes part of the interpreter's name: convert the "
        "script with dos2unix");
    return;
  }
  const FoundProgram found = find_program(interpreter.empty() ? "/" : interpreter, "/", "");
  if (!found.problem.empty()) result.mistakes.push_back("its interpreter " + found.problem);
  const bool by_env = interpreter.ends_with("/env") && !argument.empty() && argument.front() != '-';
  result.kind = "a script for " + (by_env ? argument : interpreter);
}

}  // namespace

Inspection inspect_program(const std::filesystem::path& path, const Environment& environment,
                           Coupling coupling) {
  Inspection result;
  if (const auto facts = read_elf_facts(path)) {
    inspect_elf(path, *facts, environment, coupling, result);
    return result;
  }
  std::string start(256, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(stream.gcount()));
  if (start.starts_with("#!")) {
    inspect_script(start.substr(0, start.find('\n')), result);
  } else if (start.find('\0') != std::string::npos || start.empty()) {
    result.kind = "unknown";
    result.mistakes.emplace_back(start.empty() ? "the file is empty: copy or build the program again"
                                               : "it is neither a program for this machine nor a script");
  } else {
    result.kind = "a script without #!";
    result.notes.emplace_back("the script has no first line with #!, so /bin/sh runs it");
  }
  return result;
}

}  // namespace sluice::coordinator
