#include "inspection.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "child_process.hpp"
#include "elf_file.hpp"
#include "program_lookup.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* relink =
    "link it with the shared library (-lpnetcdf with libpnetcdf.so, without -static and libpnetcdf.a)";

/// The lines of the dynamic loader's list of what it would load; empty when it does not say.
std::vector<std::string> loader_list(const std::string& loader, const std::filesystem::path& program,
                                     const Environment& environment) {
  ChildOptions child;
  child.program = loader;
  child.arguments = {loader, "--list", program.string()};
  child.environment = environment;
  std::istringstream stream(output_of(std::move(child)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The library's name at the start of a line such as "\tlibm.so.6 => /lib/libm.so.6 (0x…)".
std::string library_name(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return line.substr(begin, std::min(line.find_first_of(" \t", begin), line.size()) - begin);
}

bool is_pnetcdf(const std::string& library) {
  return library.starts_with("libpnetcdf.so");
}

void inspect_dynamic(const std::filesystem::path& path, const ElfFacts& facts, const Environment& environment,
                     bool is_coupled, Inspection& result) {
  std::vector<std::string> libraries = facts.needed;
  for (const std::string& line : loader_list(facts.interpreter, path, environment)) {
    libraries.push_back(library_name(line));
    if (line.find("=> not found") != std::string::npos) {
      result.mistakes.push_back("it needs the library " + library_name(line) +
                                ", which was not found: install it, or set LD_LIBRARY_PATH in 'environment'");
    }
  }
  const auto direct = std::find_if(facts.needed.begin(), facts.needed.end(), is_pnetcdf);
  const auto any = std::find_if(libraries.begin(), libraries.end(), is_pnetcdf);
  if (direct != facts.needed.end()) {
    result.kind = "linked with " + *direct;
  } else if (any != libraries.end()) {
    result.kind = "uses " + *any + " through another library";
  } else if (!facts.has_symbol_table && contains_pnetcdf_text(path)) {
    result.kind = "contains PnetCDF";
    if (is_coupled)
      result.mistakes.push_back(
          std::string(
              "PnetCDF seems to be linked into it statically, so that Sluice cannot take its place: ") +
          relink);
  } else {
    result.kind = "not linked with PnetCDF";
    if (is_coupled)
      result.notes.emplace_back(
          "it is not linked with PnetCDF: only what it loads at run time, and what it starts, can be "
          "coupled");
  }
}

void inspect_elf(const std::filesystem::path& path, const ElfFacts& facts, const Environment& environment,
                 bool is_coupled, Inspection& result) {
  struct stat status {};
  const bool changes_user = ::stat(path.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0;
  if (!facts.is_this_machine) {
    result.kind = "for another kind of machine";
    result.mistakes.emplace_back(
        "it was built for another kind of machine, so that Sluice's library cannot be loaded into it: build "
        "it for this one");
  } else if (facts.defines_pnetcdf) {
    result.kind = "contains PnetCDF";
    if (is_coupled)
      result.mistakes.push_back(
          std::string("PnetCDF is linked into it statically, so that Sluice cannot take its place: ") +
          relink);
  } else if (facts.interpreter.empty()) {
    result.kind = "statically linked";
    if (is_coupled)
      result.mistakes.push_back(
          std::string("it is statically linked, so that Sluice's library cannot be loaded into it: ") +
          relink);
  } else {
    inspect_dynamic(path, facts, environment, is_coupled, result);
  }
  if (changes_user && is_coupled)
    result.mistakes.emplace_back(
        "it is set-user-id or set-group-id, for which the loader ignores LD_PRELOAD: remove that bit (chmod "
        "ug-s)");
}

/// A script's interpreter is the word behind "#!".
void inspect_script(const std::string& first_line, Inspection& result) {
  std::istringstream words(first_line.substr(2));
  std::string interpreter;
  std::string argument;
  words >> interpreter >> argument;
  if (first_line.back() == '\r') {
    result.kind = "a script";
    result.mistakes.emplace_back(
        "its first line ends in a carriage return, which becomes part of the interpreter's name: convert it "
        "with dos2unix");
    return;
  }
  const FoundProgram found = find_program(interpreter.empty() ? "/" : interpreter, "/", "");
  if (!found.problem.empty()) result.mistakes.push_back("its interpreter " + found.problem);
  const bool by_env = interpreter.ends_with("/env") && !argument.empty() && argument.front() != '-';
  result.kind = "a script for " + (by_env ? argument : interpreter);
}

}  // namespace

Inspection inspect_program(const std::filesystem::path& path, const Environment& environment,
                           bool is_coupled) {
  Inspection result;
  if (const auto facts = read_elf_facts(path)) {
    inspect_elf(path, *facts, environment, is_coupled, result);
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
    result.mistakes.emplace_back("it is neither a program for this machine nor a script");
  } else {
    result.kind = "a script without #!";
    result.notes.emplace_back("it has no first line with #!, so that /bin/sh runs it");
  }
  return result;
}

}  // namespace sluice::coordinator
