#include "wrapped_call.hpp"

#include <fcntl.h>

#include <cstdio>
#include <exception>
#include <thread>
#include <utility>

#include "sluice/files/path_filter.hpp"

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

bool may_be_read_only(const char* path) noexcept {
  need_filter();
  return filter.may_cover(path) && !is_inside && *path != '\0';
}

}  // namespace

constinit thread_local bool is_inside __attribute__((tls_model("initial-exec"))) = false;

bool may_be_written(const char* path) noexcept {
  need_filter();
  return written.may_cover(path) && !is_inside;
}

bool may_write_any() noexcept {
  need_filter();
  return !written.is_empty();
}

bool may_be_coupled(const char* path) noexcept {
  need_filter();
  return (filter.may_cover(path) || written.may_cover(path)) && !is_inside;
}

WrittenFile open_written(int directory, const char* path, int flags, mode_t mode) noexcept {
  constexpr int of_no_file = O_DIRECTORY | O_PATH;  // O_TMPFILE has O_DIRECTORY
  if (!may_be_written(path) || *path == '\0' || (flags & of_no_file) != 0) return {};
  const int before = errno;
  const Inside inside;
  WrittenFile file = open_written_file(directory, path, flags, mode);
  errno = before;
  return file;
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

bool may_list_coupled() noexcept {
  need_filter();
  return (!filter.is_empty() || !written.is_empty()) && !is_inside;
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

CoupledFile look_for(int directory, const char* path, const void* site) noexcept {
  if (!may_be_coupled(path) || *path == '\0') return {};
  WrittenFile own = open_written(directory, path, O_RDONLY | O_CLOEXEC, 0);
  if (own.kind == WrittenFile::Kind::given) return {CoupledFile::Kind::image, std::move(own.file), {}, 0};
  if (own.kind == WrittenFile::Kind::failed) return {CoupledFile::Kind::failed, {}, {}, own.error_number};
  const int before = errno;
  const Inside inside;
  CoupledFile file = find_coupled_file(directory, path, site);
  errno = before;
  return file;
}

ImageLink::ImageLink(const CoupledFile& image) noexcept {
  std::snprintf(text_.data(), text_.size(), "/proc/self/fd/%d", image.image.number());
}

}  // namespace sluice::files
