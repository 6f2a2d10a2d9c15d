// The calls of the C library that ask for a file's whole name, for its extended attributes, or for the file
// system that it is on. Of a file that is coupled, these are its own too: it has a name in its directory, is
// no link, and has the attributes of a memory file. docs/design/files-by-any-program.md.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <string>

#include "sluice/files/coupled_file.hpp"
#include "wrapped_call.hpp"

// Of programs that were built with checks.
extern "C" {
char* __realpath_chk(const char* path, char* whole, std::size_t capacity);
ssize_t __readlink_chk(const char* path, char* text, std::size_t bytes, std::size_t capacity);
ssize_t __readlinkat_chk(int directory, const char* path, char* text, std::size_t bytes,
                         std::size_t capacity);
}

namespace {

using sluice::files::ask_any;
using sluice::files::ask_unfollowed;
using sluice::files::CoupledFile;
using sluice::files::fail;
using sluice::files::look_for;

/// The text of a path that is before the file's own name.
class Directory {
 public:
  explicit Directory(const char* path) noexcept {
    const char* const slash = std::strrchr(path, '/');
    name_ = slash == nullptr ? path : slash + 1;
    const auto length = static_cast<std::size_t>(name_ - path);
    is_too_long_ = length >= text_.size();
    if (!is_too_long_) std::memcpy(text_.data(), length == 0 ? "." : path, length == 0 ? 1 : length);
  }
  /// Null and ENAMETOOLONG where the path is too long.
  [[nodiscard]] const char* path() const noexcept {
    return is_too_long_ ? (errno = ENAMETOOLONG, nullptr) : text_.data();
  }
  [[nodiscard]] const char* name() const noexcept { return name_; }

 private:
  std::array<char, PATH_MAX> text_{};
  const char* name_;
  bool is_too_long_;
};

/// The directory's whole name and the file's own one. Null and errno where there is no such directory.
/// `whole`: null, or PATH_MAX bytes.
char* name_in_directory(const char* path, char* whole) noexcept {
  const Directory directory(path);
  const char* const name = directory.name();
  if (directory.path() == nullptr) return nullptr;
  std::array<char, PATH_MAX> found;
  if (SLUICE_REAL(realpath)(directory.path(), found.data()) == nullptr) return nullptr;
  const std::size_t found_length = std::strcmp(found.data(), "/") == 0 ? 0 : std::strlen(found.data());
  const std::size_t bytes = found_length + 1 + std::strlen(name) + 1;
  if (bytes > PATH_MAX) return errno = ENAMETOOLONG, nullptr;
  if (whole == nullptr) whole = static_cast<char*>(sluice::files::memory_for_program(bytes));
  if (whole == nullptr) return nullptr;
  std::memcpy(whole, found.data(), found_length);
  whole[found_length] = '/';
  std::strcpy(whole + found_length + 1, name);
  return whole;
}

/// `of_path()` is the C library's call.
template <class OfPath>
char* whole_name(const char* path, char* whole, const OfPath& of_path) {
  const std::string end = sluice::files::end_of_links(path);
  if (!end.empty()) path = end.c_str();
  const CoupledFile file = look_for(AT_FDCWD, path);
  if (file.kind == CoupledFile::Kind::failed) return errno = file.error_number, nullptr;
  if (file.kind == CoupledFile::Kind::image) return name_in_directory(path, whole);
  return sluice::files::with_parts(AT_FDCWD, path, of_path());
}

int is_no_link(int) noexcept {
  return fail(EINVAL);
}

}  // namespace

extern "C" {

SLUICE_EXPORT char* realpath(const char* path, char* whole) noexcept {
  return whole_name(path, whole, [&] { return SLUICE_REAL(realpath)(path, whole); });
}

SLUICE_EXPORT char* __realpath_chk(const char* path, char* whole, std::size_t capacity) {
  const auto of_path = [&] { return SLUICE_REAL(__realpath_chk)(path, whole, capacity); };
  return capacity < PATH_MAX ? of_path()
                             : whole_name(path, whole, of_path);  // the C library ends the program
}

SLUICE_EXPORT char* canonicalize_file_name(const char* path) noexcept {
  return whole_name(path, nullptr, [&] { return SLUICE_REAL(canonicalize_file_name)(path); });
}

SLUICE_EXPORT ssize_t readlink(const char* path, char* text, std::size_t bytes) noexcept {
  return ask_unfollowed(AT_FDCWD, path, is_no_link,
                        [&](int, const char* other) { return SLUICE_REAL(readlink)(other, text, bytes); });
}

SLUICE_EXPORT ssize_t readlinkat(int directory, const char* path, char* text, std::size_t bytes) noexcept {
  return ask_unfollowed(directory, path, is_no_link, [&](int from, const char* other) {
    return SLUICE_REAL(readlinkat)(from, other, text, bytes);
  });
}

SLUICE_EXPORT ssize_t __readlink_chk(const char* path, char* text, std::size_t bytes, std::size_t capacity) {
  return ask_unfollowed(AT_FDCWD, path, is_no_link, [&](int, const char* other) {
    return SLUICE_REAL(__readlink_chk)(other, text, bytes, capacity);
  });
}

SLUICE_EXPORT ssize_t __readlinkat_chk(int directory, const char* path, char* text, std::size_t bytes,
                                       std::size_t capacity) {
  return ask_unfollowed(directory, path, is_no_link, [&](int from, const char* other) {
    return SLUICE_REAL(__readlinkat_chk)(from, other, text, bytes, capacity);
  });
}

#define SLUICE_GETXATTR(getxattr)                                                                  \
  SLUICE_EXPORT ssize_t getxattr(const char* path, const char* name, void* value,                  \
                                 std::size_t bytes) noexcept {                                     \
    return ask_any(                                                                                \
        AT_FDCWD, path, [&](int image) { return ::fgetxattr(image, name, value, bytes); },         \
        [&](int, const char* other) { return SLUICE_REAL(getxattr)(other, name, value, bytes); }); \
  }
SLUICE_GETXATTR(getxattr)
SLUICE_GETXATTR(lgetxattr)

#define SLUICE_LISTXATTR(listxattr)                                                            \
  SLUICE_EXPORT ssize_t listxattr(const char* path, char* names, std::size_t bytes) noexcept { \
    return ask_any(                                                                            \
        AT_FDCWD, path, [&](int image) { return ::flistxattr(image, names, bytes); },          \
        [&](int, const char* other) { return SLUICE_REAL(listxattr)(other, names, bytes); });  \
  }
SLUICE_LISTXATTR(listxattr)
SLUICE_LISTXATTR(llistxattr)

#define SLUICE_STATFS(statfs, structure)                                                          \
  SLUICE_EXPORT int statfs(const char* path, struct structure* facts) noexcept {                  \
    return ask_any(                                                                               \
        AT_FDCWD, path,                                                                           \
        [&](int) {                                                                                \
          const Directory directory(path);                                                        \
          return directory.path() == nullptr ? -1 : SLUICE_REAL(statfs)(directory.path(), facts); \
        },                                                                                        \
        [&](int, const char* other) { return SLUICE_REAL(statfs)(other, facts); });               \
  }
SLUICE_STATFS(statfs, statfs)
SLUICE_STATFS(statfs64, statfs64)
SLUICE_STATFS(statvfs, statvfs)
SLUICE_STATFS(statvfs64, statvfs64)

SLUICE_EXPORT long pathconf(const char* path, int name) noexcept {
  return ask_any(
      AT_FDCWD, path, [&](int image) { return ::fpathconf(image, name); },
      [&](int, const char* other) { return SLUICE_REAL(pathconf)(other, name); });
}

}  // extern "C"
