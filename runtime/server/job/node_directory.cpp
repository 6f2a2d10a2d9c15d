#include "node_directory.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/guard_process.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::runtime {
namespace {

/// How long components may run on without their matcher, as on the coordinator's machine.
constexpr std::chrono::seconds time_to_notice{15};
constexpr std::chrono::milliseconds poll_interval{50};

/// Checks that only this user may enter the directory, even if another process made it.
void expect_private(const std::filesystem::path& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0)
    throw IoError(NC_EACCESS, errno, path.string(), "use the run's private directory");
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() || (facts.st_mode & 07777) != 0700)
    throw Error(NC_EPERM, path.string() + " is not a private directory of this user");
}

void await_end_of(const std::string& mark) {
  const auto deadline = std::chrono::steady_clock::now() + time_to_notice;
  while (!processes_with_environment(mark).empty() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(poll_interval);
}

/// The caretaker's main function. The matchers' launcher must neither find the caretaker nor wait for its
/// output.
[[noreturn]] void take_care(const std::filesystem::path& path, const std::string& socket, int line,
                            int lock) {
  begin_to_guard("sluice-caretaker");
  const int null = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, standard);
  const int low = std::min(line, lock);
  const int high = std::max(line, lock);
  ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(low) - 1, 0);
  ::close_range(static_cast<unsigned>(low) + 1, static_cast<unsigned>(high) - 1, 0);
  ::close_range(static_cast<unsigned>(high) + 1, ~0u, 0);
  const bool is_dismissed = await_dismissal(line);
  // Otherwise the launchers or the coordinator are about to end everything.
  if (!is_dismissed) {
    await_end_of(run_mark(socket));
    await_end_of(matcher_mark(socket));
  }
  stop_processes(run_mark(socket));
  if (!is_dismissed) stop_processes(matcher_mark(socket));
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  ::_exit(0);
}

}  // namespace

NodeDirectory::NodeDirectory(const std::string& socket) : path_(std::filesystem::path(socket).parent_path()) {
  const bool is_made = ::mkdir(path_.c_str(), 0700) == 0;
  if (!is_made && errno != EEXIST)
    throw IoError(NC_EACCESS, errno, path_.string(), "create the run's private directory");
  expect_private(path_);
  if (!is_made) return;
  lock_.reset(::open((path_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_ || ::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0)
    throw IoError(NC_EACCESS, errno, path_.string(), "lock the run's private directory");
  start_caretaker(socket);
}

void NodeDirectory::start_caretaker(const std::string& socket) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw IoError(NC_ENFILE, errno, "a pipe", "create");
  const FileDescriptor read_end(ends[0]);
  line_.reset(ends[1]);
  caretaker_ = ::fork();
  if (caretaker_ < 0) throw IoError(NC_ENFILE, errno, "sluice-caretaker", "start");
  if (caretaker_ == 0) take_care(path_, socket, read_end.number(), lock_.number());
}

NodeDirectory::~NodeDirectory() {
  if (caretaker_ > 0) dismiss(line_, caretaker_);
}

}  // namespace sluice::runtime
