#include "file_in_place.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "memory_file.hpp"

namespace sluice::runtime {

namespace {

/// As statfs(2) names it; linux/magic.h lacks it.
constexpr std::uint32_t zfs_magic = 0x2fc12fc1;

bool tells_of_writers(const FileDescriptor& file) noexcept {
  constexpr std::array<std::uint32_t, 8> of_one_machine{
      EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,     TMPFS_MAGIC,
      RAMFS_MAGIC,      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, zfs_magic};
  struct statfs system {};
  if (::fstatfs(file.number(), &system) != 0) return false;
  const auto kind = static_cast<std::uint32_t>(system.f_type);
  if (std::ranges::find(of_one_machine, kind) == of_one_machine.end()) return false;
  const bool is_lent = ::fcntl(file.number(), F_SETLEASE, F_RDLCK) == 0;
  if (!is_lent) return errno == EAGAIN;
  (void)::fcntl(file.number(), F_SETLEASE, F_UNLCK);
  return true;
}

}  // namespace

FileState state_of(const FileDescriptor& file) {
  const struct stat facts = status_of(file);
  return {facts.st_size, facts.st_mtim};
}

FileInPlace FileInPlace::open(const OpenFile& request, const UserRights* user) {
  const auto has = [&](int flag) { return (request.flags & static_cast<std::uint32_t>(flag)) != 0; };
  FileInPlace opened;
  FileDescriptor made;
  if (has(O_CREAT)) {
    constexpr mode_t owner_may = 0600;
    const ActingAs maker(user);
    made = FileDescriptor(::open(request.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, owner_may));
    opened.trouble = errno;
    if (!made && (opened.trouble != EEXIST || has(O_EXCL))) return opened;
  }
  opened.file = FileDescriptor(::open(request.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  opened.trouble = opened.file ? 0 : errno;
  if (!opened.file) return opened;
  if (made) (void)::fchmod(made.number(), mode_of(request.permissions));
  if (!made && !request.is_renamed) opened.before = state_of(opened.file);
  opened.is_told = tells_of_writers(opened.file);
  return opened;
}

}  // namespace sluice::runtime
