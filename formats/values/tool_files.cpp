#include "sluice/formats/tool_files.hpp"

#include <algorithm>
#include <array>

namespace sluice::formats {

namespace {

using namespace std::string_view_literals;

/// Directories of the system. Programs pass files in /dev/shm, so that is none of them.
constexpr std::array system_places{"/proc/"sv,  "/sys/"sv,    "/etc/"sv,  "/usr/"sv,
                                   "/bin/"sv,   "/sbin/"sv,   "/lib/"sv,  "/lib32/"sv,
                                   "/lib64/"sv, "/libx32/"sv, "/boot/"sv, "/dev/shm/sem."sv};
/// Directories, at any place, of Sluice and of Python.
constexpr std::array own_directories{".sluice"sv, "__pycache__"sv, "site-packages"sv, "dist-packages"sv};
/// How the names of files and directories begin that MPIs and Sluice make in TMPDIR, XDG_RUNTIME_DIR and
/// /dev/shm.
constexpr std::array own_beginnings{"ompi."sv,          "openmpi-sessions-"sv, "pmix-"sv,
                                    "vader_segment."sv, "osc_rdma."sv,         "psm_shm."sv,
                                    "psm2_shm."sv,      "mpich_shar_"sv,       "hwloc_shmem"sv};
/// Open MPI makes such a file beside each file that MPI-IO opens, to try locks.
constexpr std::string_view lock_trial = ".locktest.";
constexpr std::string_view bin = "/bin";
/// What lies beside a directory of programs: of an interpreter, a conda or virtual environment.
constexpr std::array beside_programs{"lib"sv, "lib64"sv,   "libexec"sv, "share"sv,
                                     "etc"sv, "include"sv, "ssl"sv,     "pyvenv.cfg"sv};
constexpr std::array program_endings{".py"sv, ".pyc"sv, ".sh"sv, ".so"sv,  ".pl"sv,
                                     ".R"sv,  ".jl"sv,  ".m"sv,  ".ncl"sv, ".pth"sv};

}  // namespace

bool is_tool_file(std::string_view path) noexcept {
  const auto is_below = [&](std::string_view place) { return path.starts_with(place); };
  if (std::ranges::any_of(system_places, is_below)) return true;
  if (path.starts_with("/dev/") && !path.starts_with("/dev/shm/")) return true;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (std::ranges::find(own_directories, part) != own_directories.end() ||
        std::ranges::any_of(own_beginnings,
                            [&](std::string_view begin) { return part.starts_with(begin); }) ||
        part.find(lock_trial) != part.npos)
      return true;
  }
  return false;
}

bool is_place_of_programs(std::string_view path, std::string_view search_path, std::string_view home,
                          std::string_view here) noexcept {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return false;
  if (slash == 0) return true;
  // Shells know places that their environment does not have yet.
  const std::string_view directory = path.substr(0, slash);
  if (directory != here && (directory.ends_with("/bin") || directory.ends_with("/sbin"))) return true;
  const auto is_below = [](std::string_view file, std::string_view directory) {
    return file.size() > directory.size() && file.starts_with(directory) && file[directory.size()] == '/';
  };
  if (home.size() > 1 && is_below(path, home) && path.substr(home.size() + 1).starts_with('.')) {
    const std::string_view hidden = path.substr(0, path.find('/', home.size() + 1));
    if (!is_below(here, hidden) && here != hidden) return true;
  }
  for (std::string_view rest = search_path; !rest.empty();) {
    const std::string_view place = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(place.size() + 1, rest.size()));
    if (!place.starts_with('/') || place == here) continue;
    if (directory == place) return true;
    if (!place.ends_with("/bin") || place.size() == bin.size()) continue;
    const std::string_view prefix = place.substr(0, place.size() - bin.size());
    const bool is_beside = is_below(path, prefix) && std::ranges::any_of(beside_programs, [&](auto part) {
                             const std::string_view behind = path.substr(prefix.size() + 1);
                             return behind == part || is_below(behind, part);
                           });
    if (is_beside) return true;
  }
  return false;
}

bool is_any_name(std::string_view pattern) noexcept {
  return pattern.find_first_not_of("*?./") == std::string_view::npos;
}

bool is_program_text(std::string_view path) noexcept {
  return std::ranges::any_of(program_endings, [&](std::string_view end) { return path.ends_with(end); });
}

}  // namespace sluice::formats
