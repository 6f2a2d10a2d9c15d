#include "run_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "exposer.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/session.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* prefix = "sluice-";
constexpr const char* lock_name = "lock";
constexpr const char* new_lock_name = "lock.new";
constexpr const char* socket_name = "matcher";
constexpr const char* coordinator_socket_name = "coordinator";
constexpr const char* record_name = "run";
constexpr const char* partial_record_name = "run.part";
constexpr const char* links_name = "links";
constexpr const char* exposed_files_name = "exposed";
constexpr const char* library_name = "libsluice_preload.so";
constexpr const char* files_library_name = "libsluice_files.so";
constexpr const char* sessions_name = "jobs";
constexpr const char* shared_memory_base = "/dev/shm";

/// The age in seconds below which a directory may not have its lock yet.
constexpr std::time_t seconds_to_settle = 10;

bool is_own_directory(const std::filesystem::path& path, struct stat& facts) {
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid();
}

/// Whether the name has the constructor's form "sluice-PID-XXXXXX".
bool is_run_directory_name(const std::string& name) {
  constexpr std::size_t random_length = 6;
  const std::size_t begin = std::string_view(prefix).size();
  const std::size_t dash = name.find_first_not_of("0123456789", begin);
  return name.starts_with(prefix) && dash != std::string::npos && dash > begin && name[dash] == '-' &&
         name.size() == dash + 1 + random_length;
}

/// Whether the directory has only files that a run creates. Sluice must not remove other directories.
bool has_only_files_of_a_run(const std::filesystem::path& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_known = name == lock_name || name == new_lock_name || name == socket_name ||
                          name == coordinator_socket_name || name == record_name || name == links_name ||
                          name == partial_record_name || name == library_name || name == files_library_name ||
                          name.starts_with("stdout.") || name.starts_with(std::string(socket_name) + '.');
    if (name == sessions_name) continue;
    if (!is_known) return false;
    if (entry->is_directory(error) && !entry->is_symlink(error)) return false;
  }
  return !error;
}

std::filesystem::path doors_of(const std::filesystem::path& run_directory) {
  return run_directory.parent_path() / ('.' + run_directory.filename().string() + ".door");
}

/// A run of root may have processes that become other users. Whoever knows the way can come in, and only
/// processes of the run know it: nobody can list this directory. Empty: there is none.
std::filesystem::path make_door(const std::filesystem::path& run_directory) {
  std::filesystem::path door = doors_of(run_directory);
  constexpr mode_t may_be_passed = 0711;
  constexpr std::size_t longest = 96;  // a socket's path has at most 107 bytes
  const auto make = [&] {
    return ::mkdir(door.c_str(), 0700) == 0 && ::chmod(door.c_str(), may_be_passed) == 0;
  };
  if (::geteuid() != 0 || !make()) return {};
  door /= std::to_string(runtime::random_number()) + std::to_string(runtime::random_number());
  return make() && door.native().size() <= longest ? door / socket_name : std::filesystem::path{};
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
  constexpr std::size_t longest = 60;  // a socket's path has at most 107 bytes
  const char* const runtime_directory = std::getenv("XDG_RUNTIME_DIR");
  struct stat facts {};
  if (!are_several_machines && runtime_directory != nullptr && runtime_directory[0] == '/' &&
      std::string_view(runtime_directory).size() <= longest && is_own_directory(runtime_directory, facts) &&
      ::access(runtime_directory, W_OK | X_OK) == 0 &&
      (::geteuid() != 0 || (facts.st_mode & S_IXOTH) != 0)) {  // for make_door
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
  remove_exposed_links(path);
  const std::filesystem::path memory = std::filesystem::path(shared_memory_base) / path.filename();
  if (is_own_directory(memory, facts)) std::filesystem::remove_all(memory, ignored);
  const std::filesystem::path doors = doors_of(path);
  if (is_own_directory(doors, facts)) std::filesystem::remove_all(doors, ignored);
  std::filesystem::remove_all(path, ignored);
}

RunDirectory::RunDirectory(const std::filesystem::path& base) {
  remove_stale_run_directories(base);
  std::string path = (base / (prefix + std::to_string(::getpid()) + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr)
    throw IoError(NC_EACCESS, errno, path, "create the run's private directory");
  path_ = path;
  // It has its name when it is locked: another run takes a directory whose lock is free for one that was
  // left.
  const std::filesystem::path made = path_ / new_lock_name;
  lock_.reset(::open(made.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_ || ::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0 ||
      ::rename(made.c_str(), (path_ / lock_name).c_str()) != 0) {
    const int reason = errno;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    throw IoError(NC_EACCESS, reason, path, "lock the run's private directory");
  }
  std::error_code ignored;
  std::filesystem::create_directory(sessions(), ignored);
  const std::filesystem::path memory = std::filesystem::path(shared_memory_base) / path_.filename();
  if (::mkdir(memory.c_str(), 0700) == 0) shared_memory_ = memory;
  door_ = make_door(path_);
}

std::vector<std::filesystem::path> living_run_directories(const std::filesystem::path& base) {
  std::vector<std::filesystem::path> living;
  struct stat facts {};
  std::error_code error;
  for (std::filesystem::directory_iterator entry(base, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    // A run writes its record when it has its lock, so that a look at the lock is in nobody's way.
    if (!is_run_directory_name(path.filename().string()) || !is_own_directory(path, facts) ||
        ::lstat(record_in(path).c_str(), &facts) != 0)
      continue;
    const runtime::FileDescriptor lock(::open((path / lock_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (lock && ::flock(lock.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      living.push_back(path);
  }
  return living;
}

std::filesystem::path record_in(const std::filesystem::path& run_directory) {
  return run_directory / record_name;
}

std::filesystem::path socket_in(const std::filesystem::path& run_directory) {
  return run_directory / socket_name;
}

std::filesystem::path links_in(const std::filesystem::path& run_directory) {
  return run_directory / links_name;
}

std::filesystem::path exposed_files_of(const std::filesystem::path& run_directory) {
  return std::filesystem::path(shared_memory_base) / run_directory.filename() / exposed_files_name;
}

std::filesystem::path RunDirectory::socket() const {
  return socket_in(path_);
}

std::filesystem::path RunDirectory::record() const {
  return record_in(path_);
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

std::filesystem::path RunDirectory::files_library_link() const {
  return path_ / files_library_name;
}

RunDirectory::~RunDirectory() {
  remove_run_directory(path_);
}

}  // namespace sluice::coordinator
