#include "open_record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <exception>
#include <string>

#include "process_session.hpp"
#include "wrapped_call.hpp"

namespace sluice::files {

namespace {

const char* record_path() noexcept {
  static const char* const path = std::getenv("SLUICE_RECORD");
  return path;
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
  return !is_inside && record_path() != nullptr;
}

/// Opened each time, because a program may close descriptors that it does not know. One write is one line,
/// whoever else appends.
void record_open(int directory, const char* path, bool writes) noexcept {
  const int before = errno;
  const Inside inside;
  try {
    const std::string file = absolute_path(directory, path);
    if (!file.empty()) {
      const std::string line = (writes ? "w " : "r ") + file + '\n';
      const runtime::FileDescriptor record(::open(record_path(), O_WRONLY | O_APPEND | O_CLOEXEC));
      if (record) (void)!::write(record.number(), line.data(), line.size());
    }
  } catch (const std::exception&) {
    // No memory.
  }
  errno = before;
}

}  // namespace sluice::files
