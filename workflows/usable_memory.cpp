#include "sluice/workflows/usable_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace sluice::workflows {

namespace {

/// Reads a limit. "max" is no limit; in version 1, neither is a number beyond all machines.
std::optional<std::uint64_t> read_limit(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t limit = 0;
  constexpr std::uint64_t beyond_all_machines = std::uint64_t{1} << 60;
  if (!(in >> limit) || limit >= beyond_all_machines) return std::nullopt;
  return limit;
}

/// Whether the list `controllers` ("cpu,memory") contains the memory controller.
bool has_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const auto end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "memory") return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> control_group_limit(std::string_view own_groups,
                                                 const std::filesystem::path& root) {
  std::optional<std::uint64_t> least;
  std::istringstream lines{std::string(own_groups)};
  for (std::string line; std::getline(lines, line);) {  // "0::/user.slice/a", "4:memory:/a"
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && !has_memory(controllers)) continue;
    const std::filesystem::path top = is_version_2 ? root : root / "memory";
    const char* const name = is_version_2 ? "memory.max" : "memory.limit_in_bytes";
    const std::filesystem::path own = std::filesystem::path(line.substr(second + 1)).relative_path();
    std::filesystem::path group = top;
    const auto consider = [&] {
      if (const auto limit = read_limit(group / name)) least = std::min(least.value_or(*limit), *limit);
    };
    consider();
    for (const auto& part : own) {
      group /= part;
      consider();
    }
  }
  return least;
}

std::uint64_t usable_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  const bool is_known = pages > 0 && page_bytes > 0;
  const std::uint64_t physical =
      is_known ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes)
               : std::uint64_t{4} << 30;
  std::ifstream in("/proc/self/cgroup");
  std::ostringstream text;
  text << in.rdbuf();
  return std::min(physical, control_group_limit(text.str(), "/sys/fs/cgroup").value_or(physical));
}

}  // namespace sluice::workflows
