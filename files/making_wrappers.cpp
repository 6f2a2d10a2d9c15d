// The calls of the C library that make something else than a file at a path: directories, links, pipes; that
// remove directories; that make files of random names; and the mask of new files' permissions. A name that a
// coupled file has is taken, and a directory with coupled files is not empty.
// docs/design/names-and-places.md.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "wrapped_call.hpp"
#include "written_file.hpp"

extern "C" {
int __xmknod(int version, const char* path, mode_t mode, dev_t* device);
int __xmknodat(int version, int directory, const char* path, mode_t mode, dev_t* device);
}

namespace {

using sluice::files::fail;
using sluice::files::is_taken;
using sluice::files::remove_directory;
using sluice::files::undisturbed;

/// `make()` is the C library's call. What a program makes so is on disk. A directory's name may have slashes
/// at its end.
template <class Make>
int make_it(int directory, const char* path, const Make& make) noexcept {
  std::array<char, PATH_MAX> name{};
  std::size_t length = path == nullptr ? 0 : std::strlen(path);
  while (length > 1 && path[length - 1] == '/') --length;
  if (length == 0 || length >= name.size()) return make();
  std::memcpy(name.data(), path, length);
  if (is_taken(directory, name.data())) return fail(EEXIST);
  return sluice::files::with_parts(directory, name.data(), make());
}

/// Empty where the address is no path.
std::string path_of_socket(const sockaddr* address, socklen_t length) noexcept {
  constexpr std::size_t begin = offsetof(sockaddr_un, sun_path);
  if (address == nullptr || length <= begin || address->sa_family != AF_UNIX) return {};
  const char* const path = reinterpret_cast<const char*>(address) + begin;
  try {
    return std::string(path, ::strnlen(path, length - begin));
  } catch (const std::exception&) {
    return {};  // no memory: the kernel knows what is on disk
  }
}

template <class Make>
int make_any(int directory, const char* path, const Make& make) {
  sluice::files::note_call(directory, path, sluice::files::Recorded::named);
  return undisturbed([&] { return make_it(directory, path, make); });
}

template <class Make>
int link_any(int directory, const char* path, const Make& make) {
  sluice::files::note_call(directory, path, sluice::files::Recorded::named);
  return undisturbed([&] {
    const int made = make_it(directory, path, make);
    if (made == 0) sluice::files::publish_behind_link(directory, path);
    return made;
  });
}

/// Files of random names. The C library opens them by calls of its own, so they are made here where a rule
/// may cover one. `flags`: in addition to those that such files have.
int make_temporary(char* name, int suffix, int flags) noexcept {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  constexpr std::size_t places = 6;
  const std::size_t length = std::strlen(name);
  const auto behind = static_cast<std::size_t>(suffix);
  if (suffix < 0 || length < places + behind) return fail(EINVAL);
  char* const begin = name + length - behind - places;
  if (std::string_view(begin, places) != "XXXXXX") return fail(EINVAL);
  const int before = errno;
  constexpr int most_tries = 10000;
  for (int i = 0; i < most_tries; ++i) {
    std::array<unsigned char, places> random{};
    if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) return -1;
    for (std::size_t place = 0; place < places; ++place)
      begin[place] = letters[random[place] % letters.size()];
    constexpr int access = O_RDWR | O_CREAT | O_EXCL;
    const int file = ::open(name, (flags & ~O_ACCMODE) | access, S_IRUSR | S_IWUSR);
    if (file >= 0 || errno != EEXIST) {
      if (file >= 0) errno = before;
      return file;
    }
  }
  return fail(EEXIST);
}

/// Whether a name that comes of the template may be covered, or is to be recorded.
bool may_cover_template(const char* name) noexcept {
  return name != nullptr && (sluice::files::may_be_coupled(name) || sluice::files::is_recording());
}

}  // namespace

extern "C" {

SLUICE_EXPORT int mkdir(const char* path, mode_t mode) noexcept {
  return make_any(AT_FDCWD, path, [&] { return SLUICE_REAL(mkdir)(path, mode); });
}

SLUICE_EXPORT int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  return make_any(directory, path, [&] { return SLUICE_REAL(mkdirat)(directory, path, mode); });
}

SLUICE_EXPORT int mkfifo(const char* path, mode_t mode) noexcept {
  return make_any(AT_FDCWD, path, [&] { return SLUICE_REAL(mkfifo)(path, mode); });
}

SLUICE_EXPORT int mkfifoat(int directory, const char* path, mode_t mode) noexcept {
  return make_any(directory, path, [&] { return SLUICE_REAL(mkfifoat)(directory, path, mode); });
}

SLUICE_EXPORT int mknod(const char* path, mode_t mode, dev_t device) noexcept {
  return make_any(AT_FDCWD, path, [&] { return SLUICE_REAL(mknod)(path, mode, device); });
}

SLUICE_EXPORT int mknodat(int directory, const char* path, mode_t mode, dev_t device) noexcept {
  return make_any(directory, path, [&] { return SLUICE_REAL(mknodat)(directory, path, mode, device); });
}

SLUICE_EXPORT int __xmknod(int version, const char* path, mode_t mode, dev_t* device) {
  return make_any(AT_FDCWD, path, [&] { return SLUICE_REAL(__xmknod)(version, path, mode, device); });
}

SLUICE_EXPORT int __xmknodat(int version, int directory, const char* path, mode_t mode, dev_t* device) {
  return make_any(directory, path,
                  [&] { return SLUICE_REAL(__xmknodat)(version, directory, path, mode, device); });
}

SLUICE_EXPORT int symlink(const char* target, const char* path) noexcept {
  return link_any(AT_FDCWD, path, [&] { return SLUICE_REAL(symlink)(target, path); });
}

SLUICE_EXPORT int symlinkat(const char* target, int directory, const char* path) noexcept {
  return link_any(directory, path, [&] { return SLUICE_REAL(symlinkat)(target, directory, path); });
}

SLUICE_EXPORT int bind(int socket, const sockaddr* address, socklen_t length) noexcept {
  const std::string path = path_of_socket(address, length);
  if (!path.empty() && is_taken(AT_FDCWD, path.c_str())) return fail(EADDRINUSE);
  return SLUICE_REAL(bind)(socket, address, length);
}

SLUICE_EXPORT int rmdir(const char* path) noexcept {
  return remove_directory(AT_FDCWD, path, [&] { return SLUICE_REAL(rmdir)(path); });
}

SLUICE_EXPORT mode_t umask(mode_t mask) noexcept {
  const mode_t former = SLUICE_REAL(umask)(mask);
  sluice::files::note_umask(mask & 0777);
  return former;
}

#define SLUICE_MKSTEMP(mkstemp, mkostemp, mkstemps, mkostemps)                                               \
  SLUICE_EXPORT int mkstemp(char* name) {                                                                    \
    return may_cover_template(name) ? make_temporary(name, 0, 0) : SLUICE_REAL(mkstemp)(name);               \
  }                                                                                                          \
  SLUICE_EXPORT int mkostemp(char* name, int flags) {                                                        \
    return may_cover_template(name) ? make_temporary(name, 0, flags) : SLUICE_REAL(mkostemp)(name, flags);   \
  }                                                                                                          \
  SLUICE_EXPORT int mkstemps(char* name, int suffix) {                                                       \
    return may_cover_template(name) ? make_temporary(name, suffix, 0) : SLUICE_REAL(mkstemps)(name, suffix); \
  }                                                                                                          \
  SLUICE_EXPORT int mkostemps(char* name, int suffix, int flags) {                                           \
    return may_cover_template(name) ? make_temporary(name, suffix, flags)                                    \
                                    : SLUICE_REAL(mkostemps)(name, suffix, flags);                           \
  }
SLUICE_MKSTEMP(mkstemp, mkostemp, mkstemps, mkostemps)
SLUICE_MKSTEMP(mkstemp64, mkostemp64, mkstemps64, mkostemps64)

}  // extern "C"
