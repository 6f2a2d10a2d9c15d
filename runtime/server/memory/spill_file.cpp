#include "sluice/runtime/spill_file.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

constexpr std::uint64_t probe_bytes = 64U << 10;
constexpr std::uint64_t least_reserve_bytes = std::uint64_t{1} << 30;

[[noreturn]] void fail(int error_number, const std::string& directory, const std::string& action) {
  const bool is_full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  throw IoError(is_full ? NC_ENO_SPACE : NC_EIO, error_number, directory, action);
}

/// For file systems without nameless files: makes a file and unlinks it at once.
FileDescriptor create_and_unlink(const std::string& directory) {
  std::string path = directory + "/.sluice-spill-XXXXXX";
  FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) fail(errno, directory, "create a file in");
  ::unlink(path.c_str());
  return file;
}

FileDescriptor create_nameless(const std::string& directory) {
  FileDescriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) return create_and_unlink(directory);
  fail(errno, directory, "create a file in");
}

}  // namespace

FileDescriptor create_spill_file(const std::string& directory, std::uint64_t bytes) {
  FileDescriptor file = create_nameless(directory);
  if (bytes > 0) reserve_in_spill_file(file, directory, 0, bytes);
  return file;
}

void reserve_in_spill_file(const FileDescriptor& file, const std::string& directory,
                           std::uint64_t offset_bytes, std::uint64_t bytes) {
  int result = 0;
  do {
    result = ::fallocate(file.number(), 0, static_cast<off_t>(offset_bytes), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return;
  const int error_number = errno;
  punch_hole(file, offset_bytes, bytes);  // the part reserved before the disk was full
  if (error_number == EOPNOTSUPP || error_number == ENOSYS) {
    fail(error_number, directory,
         "reserve disk space (its file system has no fallocate: choose another directory) in");
  }
  fail(error_number, directory, "reserve " + std::to_string(bytes) + " bytes in");
}

void keep_spill_reserve(const std::string& directory, std::uint64_t bytes) {
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0) fail(errno, directory, "ask for the free space of");
  const std::uint64_t reserve = std::max(least_reserve_bytes, disk.f_blocks * disk.f_frsize / 10);
  if (disk.f_bavail * disk.f_frsize < reserve + bytes) fail(ENOSPC, directory, "keep a reserve in");
}

bool punch_hole(const FileDescriptor& file, std::uint64_t offset_bytes, std::uint64_t bytes) noexcept {
  return ::fallocate(file.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(offset_bytes), static_cast<off_t>(bytes)) == 0;
}

bool probe_spill_directory(const std::string& directory) {
  const FileDescriptor file = create_spill_file(directory, probe_bytes);
  return punch_hole(file, 0, probe_bytes);
}

}  // namespace sluice::runtime
