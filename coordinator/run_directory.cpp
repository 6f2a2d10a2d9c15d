#include "run_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "sluice/formats/error.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* prefix = "sluice-";
constexpr const char* lock_name = "lock";
constexpr const char* socket_name = "matcher";
constexpr const char* coordinator_socket_name = "coordinator";
constexpr const char* library_name = "libsluice_pnetcdf.so";
constexpr const char* sessions_name = "jobs";
constexpr const char* shared_memory_base = "/dev/shm";

/// A directory that is being made has no lock yet.
constexpr std::time_t seconds_to_settle = 10;

bool is_own_directory(const std::filesystem::path& path, struct stat& facts) {
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid();
}

/// "sluice-PID-XXXXXX", as the constructor makes them.
bool is_run_directory_name(const std::string& name) {
  constexpr std::size_t random_length = 6;
  const std::size_t begin = std::string_view(prefix).size();
  const std::size_t dash = name.find_first_not_of("0123456789", begin);
  return name.starts_with(prefix) && dash != std::string::npos && dash > begin && name[dash] == '-' &&
         name.size() == dash + 1 + random_length;
}

/// Whether nothing is in it but what a run puts there: whatever else it may be is not ours to remove.
bool has_only_files_of_a_run(const std::filesystem::path& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_known = name == lock_name || name == socket_name || name == coordinator_socket_name ||
                          name == library_name || name.starts_with("stdout.") ||
                          name.starts_with(std::string(socket_name) + '.');
    if (name == sessions_name) continue;
    if (!is_known) return false;
    if (entry->is_directory(error) && !entry->is_symlink(error)) return false;
  }
  return !error;
}

bool is_stale(const std::filesystem::path& path) {
  struct stat facts {};
  constexpr mode_t permissions = 07777;
  if (!is_own_directory(path, facts) || (facts.st_mode & permissions) != 0700 ||
      !has_only_files_of_a_run(path))
    return false;
  const runtime::FileDescriptor lock(::open((path / lock_name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock) return errno == ENOENT && std::time(nullptr) - facts.st_mtime > seconds_to_settle;
  return ::flock(lock.number(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

std::filesystem::path base_for_run_directories(bool are_several_machines) {
  constexpr std::size_t longest = 60;  // a socket's path has 107 bytes
  const char* const runtime_directory = std::getenv("XDG_RUNTIME_DIR");
  struct stat facts {};
  if (!are_several_machines && runtime_directory != nullptr && runtime_directory[0] == '/' &&
      std::string_view(runtime_directory).size() <= longest && is_own_directory(runtime_directory, facts) &&
      ::access(runtime_directory, W_OK | X_OK) == 0) {
    return runtime_directory;
  }
  return "/tmp";
}

void remove_stale_run_directories(const std::filesystem::path& base) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(base, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_run_directory_name(name) && is_stale(entry->path())) remove_run_directory(entry->path());
  }
}

void remove_run_directory(const std::filesystem::path& path) noexcept {
  std::error_code ignored;
  struct stat facts {};
  const std::filesystem::path memory = std::filesystem::path(shared_memory_base) / path.filename();
  if (is_own_directory(memory, facts)) std::filesystem::remove_all(memory, ignored);
  std::filesystem::remove_all(path, ignored);
}

RunDirectory::RunDirectory(const std::filesystem::path& base) {
  remove_stale_run_directories(base);
  std::string path = (base / (prefix + std::to_string(::getpid()) + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr)
    throw IoError(NC_EACCESS, errno, path, "cannot create the run's private directory");
  path_ = path;
  lock_.reset(::open((path_ / lock_name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_ || ::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    throw IoError(NC_EACCESS, reason, path, "cannot lock the run's private directory");
  }
  std::error_code ignored;
  std::filesystem::create_directory(sessions(), ignored);
  const std::filesystem::path memory = std::filesystem::path(shared_memory_base) / path_.filename();
  if (::mkdir(memory.c_str(), 0700) == 0) shared_memory_ = memory;
}

std::filesystem::path RunDirectory::socket() const {
  return path_ / socket_name;
}

std::filesystem::path RunDirectory::coordinator_socket() const {
  return path_ / coordinator_socket_name;
}

std::filesystem::path RunDirectory::sessions() const {
  return path_ / sessions_name;
}

std::filesystem::path RunDirectory::library_link() const {
  return path_ / library_name;
}

RunDirectory::~RunDirectory() {
  remove_run_directory(path_);
}

std::filesystem::path create_log_directory(const std::filesystem::path& wanted,
                                           const std::filesystem::path& flow_file, const std::string& name) {
  std::filesystem::path path = wanted;
  if (path.empty()) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::localtime_r(&now, &parts);
    char date[32];
    std::strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
    path = std::filesystem::absolute(flow_file).parent_path() / ".sluice" /
           (name + '-' + date + '-' + std::to_string(::getpid()));
  }
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  const bool is_there = !error && (::mkdir(path.c_str(), 0700) == 0 ||
                                   (errno == EEXIST && std::filesystem::is_directory(path, error)));
  if (!is_there) {
    const std::string reason = std::strerror(error ? error.value() : errno);
    throw Error(NC_EACCESS, "cannot create the log directory " + path.string() + ": " + reason +
                                "\nchoose another with --log-dir");
  }
  return path;
}

}  // namespace sluice::coordinator
