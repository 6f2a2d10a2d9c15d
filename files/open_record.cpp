#include "open_record.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "process_session.hpp"
#include "wrapped_call.hpp"

namespace sluice::files {

namespace {

const char* record_path() noexcept {
  static const char* const path = std::getenv("SLUICE_RECORD");
  return path;
}

/// Whether some process has the file open for writing: then there is no lease for readers. Whoever opens it
/// meanwhile would be told of the lease by a signal, so it is one that is ignored.
bool is_being_written(const std::string& path) noexcept {
  const runtime::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file || ::fcntl(file.number(), F_SETSIG, SIGURG) != 0) return false;
  return ::fcntl(file.number(), F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
}

/// Nothing where the open fails.
std::optional<Recorded> how_written(const std::string& path, int flags, bool is_by_mpi_io) noexcept {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    if ((flags & O_CREAT) == 0) return std::nullopt;
    return is_by_mpi_io ? Recorded::made_by_mpi : Recorded::made;
  }
  if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) return std::nullopt;
  if (!S_ISREG(facts.st_mode) || (flags & O_TRUNC) != 0) return Recorded::written_anew;
  return is_being_written(path) ? Recorded::joined : Recorded::gone_on_with;
}

/// The ranks of a program look one after the other, until the destructor.
runtime::FileDescriptor locked_record() noexcept {
  runtime::FileDescriptor record(::open(record_path(), O_WRONLY | O_CLOEXEC));
  if (record) (void)::flock(record.number(), LOCK_EX);
  return record;
}

}  // namespace

std::string absolute_path(int directory, const char* path) {
  std::string whole = whole_path(directory, path);
  if (whole.empty() || whole.front() == '/') return whole;
  std::array<char, PATH_MAX> working_directory;
  if (::getcwd(working_directory.data(), working_directory.size()) == nullptr) return {};
  return std::string(working_directory.data()) + '/' + whole;
}

bool is_recording() noexcept {
  return !is_own_call() && record_path() != nullptr;
}

/// Opened each time, because a program may close descriptors that it does not know. One write is one text,
/// whoever else appends.
void record_open(int directory, const char* path, Recorded how) noexcept {
  const int before = errno;
  const Inside inside;
  try {
    const std::string file = absolute_path(directory, path);
    if (!file.empty()) {
      const std::string text = std::string(1, static_cast<char>(how)) + ' ' + file + '\0';
      const runtime::FileDescriptor record(::open(record_path(), O_WRONLY | O_APPEND | O_CLOEXEC));
      if (record) (void)!::write(record.number(), text.data(), text.size());
    }
  } catch (const std::exception&) {
    // No memory.
  }
  errno = before;
}

void record_listing(int descriptor, const char* path, const void* site) noexcept {
  Dl_info caller{};
  if (::dladdr(site, &caller) != 0 && std::strstr(caller.dli_fname, "/libgdal.") != nullptr) return;
  const int before = errno;
  const Inside inside;
  try {
    static auto* const lock = new std::mutex;
    static auto* const looked_into = new std::set<std::string>;
    const bool may_be_for_modules = path != nullptr && *path == '/' &&
                                    std::string_view(program_invocation_short_name).starts_with("python");
    const std::scoped_lock guard(*lock);
    if (!may_be_for_modules || !looked_into->insert(path).second)
      record_open(descriptor, ".", Recorded::listed);
  } catch (const std::exception&) {
    // No memory.
  }
  errno = before;
}

runtime::FileDescriptor record_open_for_writing(int directory, const char* path, int flags,
                                                bool is_by_mpi_io) noexcept {
  const int before = errno;
  const Inside inside;
  runtime::FileDescriptor held;
  try {
    const std::string file = absolute_path(directory, path);
    if (!file.empty()) {
      const runtime::FileDescriptor lock = is_by_mpi_io ? locked_record() : runtime::FileDescriptor{};
      const auto how = how_written(file, flags, is_by_mpi_io);
      if (how) record_open(AT_FDCWD, file.c_str(), *how);
      if (is_by_mpi_io)
        held = runtime::FileDescriptor(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    }
  } catch (const std::exception&) {
    // No memory.
  }
  errno = before;
  return held;
}

}  // namespace sluice::files
