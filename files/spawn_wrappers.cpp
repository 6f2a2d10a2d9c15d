// posix_spawn, by which programs start others without `fork`. It opens the files of its actions in the child,
// by calls of the C library's own that nobody can wrap. So this process opens a coupled file before it starts
// the child, and the child's action takes that descriptor. docs/design/files-by-any-program.md.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "image_session.hpp"
#include "sluice/files/changed_parts.hpp"
#include "wrapped_call.hpp"

namespace {

using sluice::files::HiddenDescriptor;
using sluice::files::identity_of;
using sluice::files::Inside;
using sluice::files::may_be_coupled;
using sluice::runtime::FileDescriptor;

using Actions = posix_spawn_file_actions_t;

FileDescriptor open_nothing() {
  const Inside inside;
  return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

/// A file that the child is to have.
struct PlannedOpen {
  std::string path;
  int flags = 0;
  mode_t mode = 0;
  HiddenDescriptor place;  ///< the child's action duplicates this one; between two spawns it leads nowhere
};

struct Plan {
  std::string directory = {};  ///< where relative paths begin for the child; empty: where this process is
  std::vector<PlannedOpen> opens = {};
  std::mutex mutex = {};  ///< of the places, while a child is started
};

/// By the program's object.
class Plans {
 public:
  std::shared_ptr<Plan> find(const Actions* actions) {
    if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(actions);
    return found == plans_.end() ? nullptr : found->second;
  }
  std::shared_ptr<Plan> need(const Actions* actions) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Plan>& plan = plans_[actions];
    if (plan == nullptr) plan = std::make_shared<Plan>();
    count_.store(plans_.size());
    return plan;
  }
  void remove(const Actions* actions) noexcept {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    const Inside inside;
    const std::lock_guard lock(mutex_);
    plans_.erase(actions);
    count_.store(plans_.size());
  }

 private:
  std::mutex mutex_;
  std::map<const Actions*, std::shared_ptr<Plan>> plans_;  ///< shared with calls that use them now
  std::atomic<std::size_t> count_{0};
};

/// Never destroyed: programs start others until their very end.
Plans& plans() {
  static auto* const all = new Plans;
  return *all;
}

/// Returns 0, or an error number. `add_duplicate(from)`: the action that takes the place of the open.
template <class AddDuplicate>
int plan_open(Actions* actions, PlannedOpen open, const AddDuplicate& add_duplicate) noexcept {
  try {
    FileDescriptor nothing = open_nothing();
    if (!nothing) return errno;
    open.place = HiddenDescriptor(std::move(nothing));
    const std::shared_ptr<Plan> plan = plans().need(actions);
    if (!plan->directory.empty() && open.path.front() != '/') open.path = plan->directory + '/' + open.path;
    const int status = add_duplicate(open.place.number());
    const std::lock_guard lock(plan->mutex);
    if (status == 0) plan->opens.push_back(std::move(open));
    return status;
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

/// Opens the files, at the places that the child takes them from. Returns 0, or an error number.
int open_files(const Plan& plan) {
  for (const PlannedOpen& open : plan.opens) {
    if (!open.place.is_there()) return EBADF;  // the program has closed it, or uses its number
    const int file = ::open(open.path.c_str(), open.flags | O_CLOEXEC, open.mode);
    if (file < 0) return errno;
    const int moved = ::dup3(file, open.place.number(), O_CLOEXEC);
    const Inside inside;  // the file goes on at its place
    ::close(file);
    if (moved < 0) return errno;
  }
  return 0;
}

/// For this process, the child alone has the files now.
void close_files(const Plan& plan) {
  for (const PlannedOpen& open : plan.opens) {
    if (open.place.is_there()) continue;
    const FileDescriptor nothing = open_nothing();
    const sluice::files::ClosedFile file = sluice::files::begin_close(open.place.number());
    if (nothing) (void)::dup3(nothing.number(), open.place.number(), O_CLOEXEC);
    sluice::files::end_close(file);
  }
}

/// `start()` is the C library's call, which returns 0 or an error number.
template <class Start>
int start_any(const Actions* actions, const Start& start) {
  sluice::files::lose_track_of_all();  // the child may inherit files
  const std::shared_ptr<Plan> plan = actions == nullptr ? nullptr : plans().find(actions);
  if (plan == nullptr) return start();
  const std::lock_guard lock(plan->mutex);
  const int before = errno;
  int status = open_files(*plan);
  if (status == 0) status = start();
  {
    const Inside inside;
    close_files(*plan);
  }
  errno = before;
  return status;
}

/// `start(program, arguments)` starts a coupled file, or its interpreter; `start_other()` what is no such
/// file.
template <class Start, class StartOther>
int start_program(const Actions* actions, const char* path, char* const arguments[], const Start& start,
                  const StartOther& start_other) {
  return start_any(actions, [&] {
    const int status = sluice::files::start_coupled(path, arguments, start);
    return status == ENOENT ? start_other() : status;
  });
}

}  // namespace

extern "C" {

SLUICE_EXPORT int posix_spawn_file_actions_init(Actions* actions) noexcept {
  plans().remove(actions);
  return SLUICE_REAL(posix_spawn_file_actions_init)(actions);
}

SLUICE_EXPORT int posix_spawn_file_actions_destroy(Actions* actions) noexcept {
  plans().remove(actions);
  return SLUICE_REAL(posix_spawn_file_actions_destroy)(actions);
}

SLUICE_EXPORT int posix_spawn_file_actions_addopen(Actions* actions, int number, const char* path, int flags,
                                                   mode_t mode) noexcept {
  if (!may_be_coupled(path))
    return SLUICE_REAL(posix_spawn_file_actions_addopen)(actions, number, path, flags, mode);
  return plan_open(actions, {path, flags, mode, {}}, [&](int from) {
    return SLUICE_REAL(posix_spawn_file_actions_adddup2)(actions, from, number);
  });
}

SLUICE_EXPORT int posix_spawn_file_actions_addchdir_np(Actions* actions, const char* path) noexcept {
  const int status = SLUICE_REAL(posix_spawn_file_actions_addchdir_np)(actions, path);
  if (status != 0 || !sluice::files::may_list_coupled()) return status;
  try {
    std::string& directory = plans().need(actions)->directory;
    directory = directory.empty() || *path == '/' ? std::string(path) : directory + '/' + path;
  } catch (const std::exception&) {
    return ENOMEM;
  }
  return 0;
}

/// The directory may be closed before the child begins: then this process cannot open the child's files.
SLUICE_EXPORT int posix_spawn_file_actions_addfchdir_np(Actions* actions, int directory) noexcept {
  const int status = SLUICE_REAL(posix_spawn_file_actions_addfchdir_np)(actions, directory);
  if (status != 0 || !sluice::files::may_list_coupled()) return status;
  try {
    plans().need(actions)->directory = "/proc/self/fd/" + std::to_string(directory);
  } catch (const std::exception&) {
    return ENOMEM;
  }
  return 0;
}

SLUICE_EXPORT int posix_spawn(pid_t* process, const char* path, const Actions* actions,
                              const posix_spawnattr_t* attributes, char* const arguments[],
                              char* const environment[]) {
  sluice::files::note_environment(path, environment);
  const auto start = [&](const char* program, char* const words[]) {
    return SLUICE_REAL(posix_spawn)(process, program, actions, attributes, words, environment);
  };
  return start_program(actions, path, arguments, start, [&] { return start(path, arguments); });
}

SLUICE_EXPORT int posix_spawnp(pid_t* process, const char* file, const Actions* actions,
                               const posix_spawnattr_t* attributes, char* const arguments[],
                               char* const environment[]) {
  sluice::files::note_environment(file, environment);
  const auto start = [&](const char* program, char* const words[]) {
    return SLUICE_REAL(posix_spawn)(process, program, actions, attributes, words, environment);
  };
  return start_program(actions, sluice::files::path_without_search(file), arguments, start, [&] {
    return SLUICE_REAL(posix_spawnp)(process, file, actions, attributes, arguments, environment);
  });
}

}  // extern "C"
