#include "sluice/storage/posix_file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "file_errors.hpp"
#include "sluice/storage/file_descriptor.hpp"

namespace sluice::storage {
namespace {

constexpr const char* mark_name = "user.sluice.origin";

/// The process's umask. The function umask() would briefly change it for all threads.
mode_t file_mode_mask() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Umask:")) return static_cast<mode_t>(std::strtoul(line.c_str() + 6, nullptr, 8));
  }
  return 077;
}

/// Repeats a call that a signal interrupted.
template <class Call>
auto restarting(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

FileDescriptor open_descriptor(const std::string& path, int flags, const char* action, mode_t mode = 0666) {
  FileDescriptor descriptor(restarting([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
  if (!descriptor) fail(errno, path, action);
  return descriptor;
}

/// Refuses pipes and devices: an open pipe would wait for its other end, or take another process's data.
void check_kind(const FileDescriptor& descriptor, const std::string& path) {
  struct stat facts {};
  if (::fstat(descriptor.number(), &facts) != 0) fail(errno, path, "inspect");
  if (S_ISDIR(facts.st_mode)) throw IoError(NC_EFILE, EISDIR, path, "read");
  if (!S_ISREG(facts.st_mode)) throw Error(NC_EFILE, path + " is a pipe or a device: use an ordinary file");
}

class PosixFile final : public File {
 public:
  PosixFile(std::string path, FileDescriptor descriptor, bool is_writable)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), is_writable_(is_writable) {}
  ~PosixFile() override { unmap(); }

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::int64_t size_bytes() const override;
  [[nodiscard]] std::size_t read(std::int64_t offset_bytes, std::span<std::byte> bytes) const override;
  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) override;
  std::int64_t copy(const File& from, const FileRange& range, std::int64_t offset_bytes) override;
  void resize(std::int64_t size_bytes) override;
  void reserve(std::int64_t size_bytes) override { reserve_range({0, size_bytes}); }
  void reserve_range(const FileRange& range) override;
  void give_back(const FileRange& range) noexcept override;
  [[nodiscard]] std::span<std::byte> map(std::int64_t size_bytes) override;
  void begin_sync(const FileRange& range) override;
  void sync() override;
  [[nodiscard]] bool try_lock() override;
  [[nodiscard]] bool try_lock_for_sure() override;
  [[nodiscard]] std::int64_t owner() const override { return facts().st_uid; }
  [[nodiscard]] bool is_removed() const override { return facts().st_nlink == 0; }
  void take_permissions_of(const std::string& path) override;
  void take_times_of(const std::string& path) override;
  [[nodiscard]] std::string mark() const override;
  bool set_mark(const std::string& mark) noexcept override;
  void close() override;

 private:
  [[nodiscard]] struct stat facts() const;
  /// Returns 0, or the error number.
  [[nodiscard]] int set_lock() noexcept;

  [[noreturn]] void fail_to_write(int error_number, const char* action) const {
    throw IoError(status_of_errno(error_number, NC_EWRITE), error_number, path_, action);
  }

  void unmap() noexcept;
  [[nodiscard]] bool keeps_reserved_room() const noexcept;

  std::string path_;
  FileDescriptor descriptor_;
  bool is_writable_;
  std::span<std::byte> mapped_;
};

struct stat PosixFile::facts() const {
  struct stat facts {};
  if (::fstat(descriptor_.number(), &facts) != 0) fail(errno, path_, "inspect");
  return facts;
}

std::int64_t PosixFile::size_bytes() const {
  const auto now = facts();
  if (!S_ISREG(now.st_mode)) throw IoError(NC_EFILE, EISDIR, path_, "read");
  return now.st_size;
}

std::size_t PosixFile::read(std::int64_t offset_bytes, std::span<std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto part = bytes.subspan(done);
    const auto offset = offset_bytes + static_cast<std::int64_t>(done);
    const auto got =
        restarting([&] { return ::pread(descriptor_.number(), part.data(), part.size(), offset); });
    if (got < 0) throw IoError(NC_EREAD, errno, path_, "read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void PosixFile::write(std::int64_t offset_bytes, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto put =
        restarting([&] { return ::pwrite(descriptor_.number(), bytes.data(), bytes.size(), offset_bytes); });
    if (put < 0) fail_to_write(errno, "write");
    offset_bytes += put;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

std::int64_t PosixFile::copy(const File& from, const FileRange& range, std::int64_t offset_bytes) {
  const auto* const other = dynamic_cast<const PosixFile*>(&from);
  if (other == nullptr) return File::copy(from, range, offset_bytes);
  off_t source = range.begin;
  off_t target = offset_bytes;
  while (source < range.end) {
    const auto copied = restarting([&] {
      return ::copy_file_range(other->descriptor_.number(), &source, descriptor_.number(), &target,
                               static_cast<std::size_t>(range.end - source), 0);
    });
    if (copied == 0) break;
    if (copied > 0) continue;
    // Another file system, or one without this function.
    const bool can = errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP;
    if (can) fail_to_write(errno, "copy to");
    return source - range.begin + File::copy(from, {source, range.end}, target);
  }
  return source - range.begin;
}

void PosixFile::resize(std::int64_t size_bytes) {
  if (restarting([&] { return ::ftruncate(descriptor_.number(), size_bytes); }) != 0)
    fail_to_write(errno, "resize");
}

void PosixFile::reserve_range(const FileRange& range) {
  int code = EINTR;
  while (code == EINTR) code = ::posix_fallocate(descriptor_.number(), range.begin, range.size());
  if (code != 0) fail_to_write(code, "reserve disk space for");
}

void PosixFile::give_back(const FileRange& range) noexcept {
  if (range.size() <= 0) return;
  (void)::fallocate(descriptor_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range.begin,
                    range.size());
}

void PosixFile::unmap() noexcept {
  unguard(mapped_);
  if (!mapped_.empty()) ::munmap(mapped_.data(), mapped_.size());
  mapped_ = {};
}

/// Whether a write goes to the reserved block. It does not on copy-on-write file systems, and with a server
/// it is unknown.
bool PosixFile::keeps_reserved_room() const noexcept {
  struct statfs facts {};
  if (::fstatfs(descriptor_.number(), &facts) != 0) return false;
  constexpr std::array<std::uint32_t, 3> such{0xEF53, 0x58465342, 0x01021994};  // ext, XFS, tmpfs
  return std::find(such.begin(), such.end(), static_cast<std::uint32_t>(facts.f_type)) != such.end();
}

std::span<std::byte> PosixFile::map(std::int64_t size_bytes) {
  unmap();
  if (size_bytes <= 0 || !keeps_reserved_room()) return {};
  if (::posix_fallocate(descriptor_.number(), 0, size_bytes) != 0) return {};
  const auto size = static_cast<std::size_t>(size_bytes);
  void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.number(), 0);
  if (begin == MAP_FAILED) return {};
  mapped_ = {static_cast<std::byte*>(begin), size};
  guard_from_cuts(mapped_);
  return mapped_;
}

void PosixFile::begin_sync(const FileRange& range) {
  // sync() reports errors.
  (void)::sync_file_range(descriptor_.number(), range.begin, range.size(), SYNC_FILE_RANGE_WRITE);
}

void PosixFile::sync() {
  if (restarting([&] { return ::fdatasync(descriptor_.number()); }) != 0) fail_to_write(errno, "sync");
}

int PosixFile::set_lock() noexcept {
  struct flock lock {};
  lock.l_type = is_writable_ ? F_WRLCK : F_RDLCK;
  lock.l_whence = SEEK_SET;
  // The lock belongs to the open file, not to the process: it persists when the process closes another
  // descriptor.
  const auto code = restarting([&] { return ::fcntl(descriptor_.number(), F_OFD_SETLK, &lock); });
  return code == 0 ? 0 : errno;
}

bool PosixFile::try_lock() {
  const int error = set_lock();
  return error != EAGAIN && error != EACCES;
}

bool PosixFile::try_lock_for_sure() {
  return set_lock() == 0;
}

void PosixFile::take_permissions_of(const std::string& path) {
  struct stat existing {};
  const bool exists = ::stat(path.c_str(), &existing) == 0 && S_ISREG(existing.st_mode);
  // The owner can still write the file.
  const mode_t mode = (exists ? existing.st_mode & 0777 : 0666 & ~file_mode_mask()) | 0600;
  // A privileged process gives the file to the same user and group.
  if (exists) (void)!::fchown(descriptor_.number(), existing.st_uid, existing.st_gid);
  if (::fchmod(descriptor_.number(), mode) != 0) fail(errno, path_, "set the permissions of");
}

void PosixFile::take_times_of(const std::string& path) {
  struct stat existing {};
  if (::stat(path.c_str(), &existing) != 0) return;
  const timespec times[] = {existing.st_atim, existing.st_mtim};
  if (::futimens(descriptor_.number(), times) != 0) fail(errno, path_, "set the times of");
}

std::string PosixFile::mark() const {
  std::array<char, 4096> text{};
  const auto bytes = ::fgetxattr(descriptor_.number(), mark_name, text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, bytes))};
}

bool PosixFile::set_mark(const std::string& mark) noexcept {
  if (mark.empty()) return ::fremovexattr(descriptor_.number(), mark_name) == 0 || errno == ENODATA;
  return ::fsetxattr(descriptor_.number(), mark_name, mark.data(), mark.size(), 0) == 0;
}

void PosixFile::close() {
  unmap();
  const int descriptor = descriptor_.release();
  // close() frees the descriptor in every case; an interruption by a signal is not an error.
  if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR) fail_to_write(errno, "close");
}

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

/// A file that cannot be inspected counts: the later open reports the reason.
bool may_be_regular_file(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0) return S_ISREG(facts.st_mode);
  return errno != ENOENT;
}

}  // namespace

std::unique_ptr<File> PosixFileSystem::open(const std::string& path, OpenMode mode) {
  const bool is_read = mode == OpenMode::read || mode == OpenMode::read_no_link;
  const bool is_private = mode == OpenMode::create_private;
  int flags = is_read ? O_RDONLY : O_RDWR;
  flags |= O_NONBLOCK;  // prevents waiting for a pipe; files ignore it
  if (mode == OpenMode::create) flags |= O_CREAT | O_TRUNC;
  if (mode == OpenMode::create_new || is_private) flags |= O_CREAT | O_EXCL;
  if (mode == OpenMode::read_no_link || is_private) flags |= O_NOFOLLOW;
  const bool creates = (flags & O_CREAT) != 0;
  auto descriptor = open_descriptor(path, flags, creates ? "create" : "open", is_private ? 0600 : 0666);
  check_kind(descriptor, path);
  return std::make_unique<PosixFile>(path, std::move(descriptor), !is_read);
}

bool PosixFileSystem::exists(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) fail(errno, path, "inspect");
  return false;
}

std::optional<std::int64_t> PosixFileSystem::owner_of(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) return facts.st_uid;
  if (errno != ENOENT && errno != ENOTDIR) fail(errno, path, "inspect");
  return std::nullopt;
}

std::int64_t PosixFileSystem::user() const {
  return ::geteuid();
}

void PosixFileSystem::remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return;
  // PnetCDF's code for a directory.
  if (errno == EISDIR) throw IoError(NC_EACCESS, EISDIR, path, "delete");
  fail(errno, path, "delete");
}

void PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(errno, from, "rename");
}

std::vector<std::string> PosixFileSystem::list(const std::string& directory) {
  const std::unique_ptr<DIR, CloseDirectory> stream(::opendir(directory.c_str()));
  if (stream == nullptr) fail(errno, directory, "list the files of");
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const auto* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != ".." && may_be_regular_file(directory + "/" + name))
      names.push_back(std::move(name));
  }
  if (errno != 0) fail(errno, directory, "list the files of");
  std::sort(names.begin(), names.end());
  return names;
}

std::int64_t PosixFileSystem::capacity_bytes(const std::string& directory) {
  struct statfs facts {};
  std::int64_t bytes = 0;
  const bool is_known = ::statfs(directory.c_str(), &facts) == 0 && facts.f_blocks > 0 &&
                        !__builtin_mul_overflow(facts.f_blocks, facts.f_bsize, &bytes);
  return is_known ? bytes : std::numeric_limits<std::int64_t>::max();
}

void PosixFileSystem::sync_directory(const std::string& directory) {
  const auto descriptor = open_descriptor(directory, O_RDONLY | O_DIRECTORY, "open");
  // Some file systems do not sync directories, and return EINVAL.
  if (::fsync(descriptor.number()) != 0 && errno != EINVAL) fail(errno, directory, "sync");
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
    // NC_EFILE for a file in place of a directory and similar errors; NC_EBAD_FILE for a name that is too
    // long.
    fail(errno, path, "create");
  }
  if (keeps_existing) fail(EEXIST, path, "create");
  if (::truncate(path.c_str(), 0) == 0) {
    // The emptied file is a different file, so the mark is removed.
    (void)::removexattr(path.c_str(), mark_name);
    return;
  }
  if (errno == ENOENT) return;
  // PnetCDF returns NC_EFILE if an existing file cannot be emptied, for any reason.
  throw IoError(NC_EFILE, errno, path, "overwrite");
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

}  // namespace sluice::storage
