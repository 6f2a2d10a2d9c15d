#include "shared_libraries.hpp"

#include <algorithm>
#include <sstream>

#include "child_process.hpp"

namespace sluice::coordinator {
namespace {

/// The library's name at the start of a line such as "\tlibm.so.6 => /lib/libm.so.6 (0x…)".
std::string name_of_library(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return line.substr(begin, std::min(line.find_first_of(" \t", begin), line.size()) - begin);
}

}  // namespace

std::vector<SharedLibrary> find_shared_libraries(const std::string& loader,
                                                 const std::filesystem::path& program,
                                                 const Environment& environment) {
  ChildOptions child;
  child.program = loader;
  child.arguments = {loader, "--list", program.string()};
  child.environment = environment;
  std::istringstream stream(output_of(std::move(child)));
  std::vector<SharedLibrary> libraries;
  for (std::string line; std::getline(stream, line);)
    libraries.push_back({name_of_library(line), line.find("=> not found") == std::string::npos});
  return libraries;
}

}  // namespace sluice::coordinator
