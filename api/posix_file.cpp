#include "posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sluice::api {
namespace {

Status status_of_errno(int error_number) {
  switch (error_number) {
    case ENOENT:
      return NC_ENOENT;
    case EEXIST:
      return NC_EEXIST;
    case EACCES:
      return NC_EACCESS;
    case EROFS:
    case EPERM:
      return NC_EPERM;
    case ENAMETOOLONG:
      return NC_EBAD_FILE;
    case ENOSPC:
      return NC_ENO_SPACE;
    case EDQUOT:
      return NC_EQUOTA;
    default:
      return NC_EFILE;
  }
}

[[noreturn]] void fail(int error_number, const std::string& path, const std::string& action) {
  throw IoError(status_of_errno(error_number), error_number, path, action);
}

/// Calls again when a signal came in between.
template <class Call>
auto restarting(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

PosixFile PosixFile::open(const std::string& path) {
  PosixFile file;
  file.descriptor_ = restarting([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (!file.is_open()) fail(errno, path, "open");
  return file;
}

PosixFile PosixFile::open_or_create(const std::string& path, bool creates, bool is_exclusive) noexcept {
  PosixFile file;
  const int creation = (creates ? O_CREAT : 0) | (is_exclusive ? O_EXCL : 0);
  for (const int access : {O_RDWR, O_RDONLY}) {
    file.descriptor_ = restarting([&] { return ::open(path.c_str(), access | creation | O_CLOEXEC, 0666); });
    if (file.is_open()) break;
  }
  return file;
}

PosixFile::~PosixFile() {
  if (is_open()) ::close(descriptor_);
}

std::int64_t PosixFile::size_bytes(const std::string& path) const {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) fail(errno, path, "tell the size of");
  if (!S_ISREG(facts.st_mode)) throw IoError(NC_EFILE, EISDIR, path, "read");
  return facts.st_size;
}

std::size_t PosixFile::read(std::int64_t offset_bytes, std::span<std::byte> bytes,
                            const std::string& path) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto part = bytes.subspan(done);
    const auto got = restarting([&] {
      return ::pread(descriptor_, part.data(), part.size(), offset_bytes + static_cast<std::int64_t>(done));
    });
    if (got < 0) throw IoError(NC_EREAD, errno, path, "read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::string without_prefix(const std::string& path) {
  const auto colon = path.find(':');
  const bool has_prefix = colon != std::string::npos && colon > 1 &&
                          std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(colon),
                                      [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return has_prefix ? path.substr(colon + 1) : path;
}

void prepare_creation(const std::string& path, bool keeps_existing) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return;
    // A file where a directory should be, and the like: NC_EFILE; a name too long: NC_EBAD_FILE.
    fail(errno, path, "create");
  }
  if (keeps_existing) fail(EEXIST, path, "create (it exists already)");
  if (::truncate(path.c_str(), 0) == 0 || errno == ENOENT) return;
  // PnetCDF says NC_EFILE when a file that exists cannot be emptied, whatever the reason.
  throw IoError(NC_EFILE, errno, path, "overwrite");
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return;
  // PnetCDF's code for a directory.
  if (errno == EISDIR) throw IoError(NC_EACCESS, EISDIR, path, "delete");
  fail(errno, path, "delete");
}

bool is_out_of_space(const std::string& path, std::size_t bytes) noexcept {
  struct statfs facts {};
  if (::statfs(path.c_str(), &facts) != 0) return false;
  return static_cast<std::uint64_t>(facts.f_bavail) * static_cast<std::uint64_t>(facts.f_bsize) < bytes;
}

bool is_on_local_file_system(const std::string& path) noexcept {
  constexpr std::array<std::uint32_t, 8> local{
      0xEF53,      // ext
      0x58465342,  // XFS
      0x9123683E,  // Btrfs
      0x01021994,  // tmpfs
      0x858458F6,  // ramfs
      0x794C7630,  // overlay
      0xF2F52010,  // F2FS
      0x2FC12FC1,  // ZFS
  };
  struct statfs facts {};
  const auto slash = path.find_last_of('/');
  const auto directory = slash == std::string::npos ? std::string(".") : path.substr(0, slash + 1);
  if (::statfs(directory.c_str(), &facts) != 0) return false;
  return std::find(local.begin(), local.end(), static_cast<std::uint32_t>(facts.f_type)) != local.end();
}

}  // namespace sluice::api
