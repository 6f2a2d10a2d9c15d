#include "wrapped_call.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <thread>
#include <utility>

#include "client_library.hpp"
#include "open_record.hpp"
#include "process_session.hpp"
#include "read_record.hpp"
#include "sluice/files/path_filter.hpp"
#include "sluice/files/process_memory.hpp"
#include "sluice/runtime/resolved_path.hpp"

namespace sluice::files {

namespace {

enum FilterState { not_read, being_read, ready };
constinit PathFilter filter;   ///< of what the component reads
constinit PathFilter written;  ///< of what it writes
constinit std::atomic<int> filter_state{not_read};
void read_filter() noexcept {
  int state = not_read;
  if (filter_state.compare_exchange_strong(state, being_read)) {
    const bool is_attached = std::getenv("SLUICE_ATTACHED") != nullptr;
    const bool has_run = is_attached || std::getenv("SLUICE_SOCKET") != nullptr;
    const char* const rules = has_run ? std::getenv("SLUICE_RULES") : nullptr;
    filter.read(rules, PathFilter::Use::reading);
    written.read(is_attached ? nullptr : rules, PathFilter::Use::writing);
    filter_state.store(ready, std::memory_order_release);
  }
  while (filter_state.load(std::memory_order_acquire) != ready) std::this_thread::yield();
}

void need_filter() noexcept {
  if (filter_state.load(std::memory_order_acquire) != ready) read_filter();
}

/// What is made at its first use is made before the program begins: there are no other threads yet, which
/// could be in the middle of it when the program forks, and no signal handler interrupts the C library.
__attribute__((constructor)) void prepare() {
  // Where a thread is cancelled, another copy of the unwinder asks this library's one, which must have begun.
  (void)::_Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_NORMAL_STOP; }, nullptr);
  (void)is_recording();
  (void)records_files();
  need_filter();
  if (filter.is_empty() && written.is_empty()) return;
  note_process_memory();
  (void)::pthread_atfork(nullptr, nullptr, [] {
    const Inside inside;
    leave_images_of_parent();
  });
  const Inside inside;
  look_for_client_library();
  try {
    read_environment();
    (void)runtime::resolved_path("/proc");
  } catch (const std::exception&) {
    // No memory: the first call for a coupled file does it.
  }
}

bool may_be_read_only(const char* path) noexcept {
  need_filter();
  return filter.may_cover(path) && !is_own_call() && *path != '\0';
}

}  // namespace

void await_cancel_signal() {
  const timespec none{};
  (void)::nanosleep(&none, nullptr);  // a cancellation point
}

void restore_cancel_type(int type) {
  (void)::pthread_setcanceltype(type, nullptr);
}

bool may_be_written(const char* path) noexcept {
  return has_rule_to_write(path) && !is_own_call();
}

bool has_rule_to_write(const char* path) noexcept {
  need_filter();
  return written.may_cover(path);
}

bool has_rule_to_read(const char* path) noexcept {
  need_filter();
  return filter.may_cover(path);
}

bool may_write_any() noexcept {
  need_filter();
  return !written.is_empty();
}

bool may_be_coupled(const char* path) noexcept {
  need_filter();
  return (filter.may_cover(path) || written.may_cover(path)) && !is_own_call();
}

WrittenFile open_written(int directory, const char* path, int flags, mode_t mode,
                         OpenReason reason) noexcept {
  constexpr int of_no_file = O_DIRECTORY | O_PATH;  // O_TMPFILE has O_DIRECTORY
  if (!may_be_written(path) || *path == '\0' || (flags & of_no_file) != 0) return {};
  const int before = errno;
  const Inside inside;
  WrittenFile file = open_written_file(directory, path, flags, mode, reason);
  errno = before;
  return file;
}

void publish_behind_link(int directory, const char* path) noexcept {
  if (!may_be_written(path)) return;
  const int before = errno;
  const bool leads_out = [&] {
    const Inside inside;
    return leads_to_ordinary_file(directory, path);
  }();
  WrittenFile file;
  if (leads_out) file = open_written(directory, path, O_WRONLY, 0, OpenReason::renamed);
  if (file.kind == WrittenFile::Kind::given) close_written(file.file);
  errno = before;
}

ReaderChange change_read(int directory, const char* path) noexcept {
  if (!may_be_read_only(path)) return ReaderChange::to_disk;
  const Inside inside;
  return change_as_reader(directory, path);
}

ReaderChange remove_read(int directory, const char* path) noexcept {
  if (!may_be_read_only(path)) return ReaderChange::to_disk;
  const Inside inside;
  return remove_as_reader(directory, path);
}

namespace {

/// What the link contains, from the directory of its own path on; empty: it is no link.
std::string target_of(int directory, const std::string& link) {
  std::array<char, PATH_MAX> text;
  const ssize_t length = ::readlinkat(directory, link.c_str(), text.data(), text.size());
  if (length <= 0 || static_cast<std::size_t>(length) == text.size()) return {};
  const std::string target(text.data(), static_cast<std::size_t>(length));
  return target.front() == '/' ? target : link.substr(0, link.rfind('/') + 1) + target;
}

}  // namespace

bool is_link(int directory, const char* path) noexcept {
  const int before = errno;
  std::array<char, 1> text;
  const bool is = SLUICE_REAL(readlinkat)(directory, path, text.data(), text.size()) >= 0;
  errno = before;
  return is;
}

bool stops_at_link(int directory, const char* path, int flags) noexcept {
  constexpr int anew = O_CREAT | O_EXCL;
  return ((flags & O_NOFOLLOW) != 0 || (flags & anew) == anew) && may_be_coupled(path) &&
         is_link(directory, path);
}

namespace {

/// Of what the kernel has there; 0: nothing.
mode_t mode_on_disk(int directory, const char* path) noexcept {
  const int before = errno;
  const Inside inside;
  struct stat facts {};
  const mode_t mode = ::fstatat(directory, path, &facts, 0) == 0 ? facts.st_mode : 0;
  errno = before;
  return mode;
}

}  // namespace

bool is_on_disk(int directory, const char* path) noexcept {
  return mode_on_disk(directory, path) != 0;
}

void note_files_in_path(int directory, const char* path) noexcept {
  std::array<char, PATH_MAX> part{};
  if (!may_list_coupled() || path == nullptr || std::strlen(path) >= part.size()) return;
  std::strcpy(part.data(), path);
  for (char* end = std::strrchr(part.data(), '/'); end != nullptr; end = std::strrchr(part.data(), '/')) {
    *end = '\0';
    if (end == part.data()) return;
    if (!may_be_coupled(part.data())) continue;
    // What the run keeps may have come to the disk since the call has failed, or while the run was asked.
    mode_t mode = mode_on_disk(directory, part.data());
    const bool is_in_run = mode == 0 && is_taken(directory, part.data());
    if (mode == 0 && !is_in_run) mode = mode_on_disk(directory, part.data());
    if (is_in_run || (mode != 0 && !S_ISDIR(mode))) errno = ENOTDIR;
    if (is_in_run || mode != 0) return;
  }
}

namespace {

bool has_rules() noexcept {
  need_filter();
  return !filter.is_empty() || !written.is_empty();
}

bool may_cover(const char* path) noexcept {
  return filter.may_cover(path) || written.may_cover(path);
}

/// Follows links on disk until one leads to no other, or, if that is enough, to a path that a rule may cover.
std::string follow(int directory, const char* path, bool is_first_enough) noexcept {
  constexpr int most_links = 40;  // as the kernel's
  const int before = errno;
  const Inside inside;
  std::string end;
  try {
    std::string next = target_of(directory, path);
    for (int i = 0; i < most_links && !next.empty() && !(is_first_enough && may_cover(end.c_str())); ++i)
      next = target_of(directory, end = std::move(next));
    if (!may_cover(end.c_str())) end.clear();
  } catch (const std::exception&) {
    end.clear();  // no memory: the link as it is on disk
  }
  errno = before;
  return end;
}

}  // namespace

std::string end_of_links(const char* path) noexcept {
  return path != nullptr && has_rules() && !is_own_call() ? follow(AT_FDCWD, path, false) : std::string();
}

std::string behind_links(int directory, const char* path) noexcept {
  const bool is_asked = path != nullptr && has_rules() && !is_own_call() && !may_cover(path);
  return is_asked && is_link(directory, path) ? follow(directory, path, true) : std::string();
}

bool may_list_coupled() noexcept {
  need_filter();
  return (!filter.is_empty() || !written.is_empty()) && !is_own_call();
}

std::vector<std::string> look_into(int directory) noexcept {
  const int before = errno;
  const Inside inside;
  std::vector<std::string> names;
  try {
    names = find_coupled_names(directory);
  } catch (const std::exception&) {
    // No memory: the directory as it is on disk.
  }
  errno = before;
  return names;
}

bool is_taken(int directory, const char* path) noexcept {
  if (!may_be_coupled(path) || *path == '\0') return false;
  if (open_written(directory, path, O_RDONLY | O_CLOEXEC, 0).kind == WrittenFile::Kind::given) return true;
  const char* const slash = std::strrchr(path, '/');
  const int before = errno;
  bool is = false;
  try {
    const std::string parent = slash == nullptr ? "." : std::string(path, slash + 1);
    int opened = -1;
    {
      const Inside inside;
      opened = ::openat(directory, parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    const runtime::FileDescriptor file(opened);
    const std::vector<std::string> names = file ? look_into(opened) : std::vector<std::string>{};
    is = std::ranges::find(names, slash == nullptr ? path : slash + 1) != names.end();
  } catch (const std::exception&) {
    // No memory: the kernel knows what is on disk.
  }
  errno = before;
  return is;
}

bool has_coupled_files(int directory, const char* path) noexcept {
  if (!may_list_coupled()) return false;
  const int before = errno;
  int opened = -1;
  {
    const Inside inside;
    opened = ::openat(directory, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  const runtime::FileDescriptor file(opened);
  const bool has = file && !look_into(opened).empty();
  errno = before;
  return has;
}

CoupledFile look_for(int directory, const char* path, const void* site) noexcept {
  if (!may_be_coupled(path) || *path == '\0') return {};
  const OpenReason reason = site == nullptr ? OpenReason::to_look : OpenReason::to_read;
  WrittenFile own = open_written(directory, path, O_RDONLY | O_CLOEXEC, 0, reason);
  if (own.kind == WrittenFile::Kind::given)
    return {CoupledFile::Kind::image, std::move(own.file), {}, 0, own.names};
  if (own.kind == WrittenFile::Kind::failed) return {CoupledFile::Kind::failed, {}, {}, own.error_number};
  const int before = errno;
  const Inside inside;
  CoupledFile file = find_coupled_file(directory, path, site);
  errno = before;
  // The run has no such file, but the disk has a link, which may have been made meanwhile.
  const bool is_missing = file.kind == CoupledFile::Kind::failed && file.error_number == ENOENT;
  if (is_missing && is_link(directory, path)) return {};
  return file;
}

ImageLink::ImageLink(const CoupledFile& image) noexcept {
  std::snprintf(text_.data(), text_.size(), "/proc/thread-self/fd/%d", image.image.number());
}

}  // namespace sluice::files

/// The number by which this process says at the matcher who it is. The client library for processes without
/// MPI says the same; 0: it has to take one of its own.
extern "C" SLUICE_EXPORT std::uint64_t sluice_process_token() {
  try {
    return sluice::files::process_session().process_token();
  } catch (const std::exception&) {
    return 0;
  }
}
