#include "memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

std::string link_to(const FileDescriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.number());
}

namespace {

/// The matcher itself can read and write the file.
mode_t file_mode(std::uint32_t permissions) noexcept {
  constexpr mode_t all_permissions = 0777;
  return static_cast<mode_t>((permissions & all_permissions) | S_IRUSR | S_IWUSR);
}

}  // namespace

FileDescriptor make_memory_file(std::uint32_t permissions) {
  const FileDescriptor made(::memfd_create("sluice-file", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (made && ::fchmod(made.number(), file_mode(permissions)) == 0) {
    FileDescriptor file(::open(link_to(made).c_str(), O_RDONLY | O_CLOEXEC));
    if (file) return file;
  }
  const int number = errno;
  throw IoError(number == EMFILE || number == ENFILE ? NC_ENFILE : NC_ENOMEM, number, "memory file",
                "create");
}

struct stat status_of(const FileDescriptor& file) {
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) throw IoError(NC_EIO, errno, "memory file", "look at");
  return facts;
}

std::uint64_t file_size(const FileDescriptor& file) {
  return static_cast<std::uint64_t>(status_of(file).st_size);
}

bool seal(const FileDescriptor& file) {
  const FileDescriptor writable(::open(link_to(file).c_str(), O_RDWR | O_CLOEXEC));
  const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  return writable && ::fcntl(writable.number(), F_ADD_SEALS, seals) == 0;
}

FileContents::FileContents(const FileDescriptor& file) : bytes_(file_size(file)) {
  if (bytes_ == 0) return;
  memory_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file.number(), 0);
  if (memory_ == MAP_FAILED)
    throw IoError(NC_ENOMEM, errno, "a file that was written by the C library", "map");
}

FileContents::~FileContents() {
  if (bytes_ > 0) ::munmap(memory_, bytes_);
}

int copy_bytes(const FileDescriptor& from, const FileDescriptor& to) {
  off_t done = 0;
  for (;;) {
    constexpr std::size_t piece = std::size_t{1} << 30;
    const ssize_t copied = ::sendfile(to.number(), from.number(), &done, piece);
    if (copied == 0) return 0;
    if (copied < 0 && errno != EINTR) return errno;
  }
}

bool take_permissions(const FileDescriptor& from, const FileDescriptor& to) {
  struct stat facts {};
  return ::fstat(from.number(), &facts) == 0 && ::fchmod(to.number(), file_mode(facts.st_mode)) == 0;
}

bool have_same_bytes(const FileDescriptor& a, const FileDescriptor& b) {
  const FileContents first(a);
  const FileContents second(b);
  return std::ranges::equal(first.bytes(), second.bytes());
}

namespace {

/// The access rights of nobody: the file is there already.
int flags_of_reopening(std::uint32_t flags) noexcept {
  return static_cast<int>((flags & ~static_cast<std::uint32_t>(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC);
}

}  // namespace

std::shared_ptr<const FileDescriptor> reopened(const FileDescriptor& file, std::uint32_t flags) {
  return std::make_shared<const FileDescriptor>(::open(link_to(file).c_str(), flags_of_reopening(flags)));
}

}  // namespace sluice::runtime
