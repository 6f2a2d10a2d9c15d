#include "memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/storage/partial_file.hpp"

namespace sluice::runtime {

std::string link_to(const FileDescriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.number());
}

mode_t mode_of(std::uint32_t permissions) noexcept {
  constexpr mode_t all_permissions = 07777;
  return static_cast<mode_t>(permissions) & all_permissions;
}

namespace {

/// Empty and errno where that fails. `made`: as it was made, so its owner can read it.
FileDescriptor for_reading(const FileDescriptor& made, std::uint32_t permissions) noexcept {
  if (!made) return FileDescriptor();
  FileDescriptor file(::open(link_to(made).c_str(), O_RDONLY | O_CLOEXEC));
  return file && ::fchmod(made.number(), mode_of(permissions)) == 0 ? std::move(file) : FileDescriptor();
}

bool lacks_descriptors(int number) noexcept {
  return number == EMFILE || number == ENFILE;
}

[[noreturn]] void fail_to_make(Status status, const std::string& name) {
  const int number = errno;
  throw IoError(lacks_descriptors(number) ? NC_ENFILE : status, number, name, "create");
}

[[noreturn]] void fail_to_open() {
  const int number = errno;
  const Status status = lacks_descriptors(number) ? NC_ENFILE
                        : number == EINVAL        ? NC_EINVAL
                        : number == EACCES        ? NC_EPERM
                                                  : NC_EIO;
  throw IoError(status, number, "a file that was written by the C library", "open");
}

}  // namespace

namespace {

/// Whether the descriptor that makes a memory file does not count as one for writing, when the system is
/// asked for a lease. Then no other one is needed.
bool are_makers_uncounted() noexcept {
  const FileDescriptor maker(::memfd_create("sluice-try", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  return maker && tells_who_writes(maker);
}

}  // namespace

FileDescriptor make_memory_file(std::uint32_t permissions) {
  static const bool is_uncounted = are_makers_uncounted();
  FileDescriptor made(::memfd_create("sluice-file", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (is_uncounted && made && ::fchmod(made.number(), mode_of(permissions)) == 0) return made;
  FileDescriptor file = for_reading(made, permissions);
  if (!file) fail_to_make(NC_ENOMEM, "memory file");
  return file;
}

FileDescriptor make_file_on_disk(const std::string& directory, std::uint32_t permissions) {
  std::string path = directory + "/.sluice-file-XXXXXX";
  const FileDescriptor made(::mkostemp(path.data(), O_CLOEXEC));
  if (made) ::unlink(path.c_str());
  FileDescriptor file = for_reading(made, permissions);
  if (!file) fail_to_make(NC_EIO, directory);
  return file;
}

struct stat status_of(const FileDescriptor& file) {
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) throw IoError(NC_EIO, errno, "memory file", "look at");
  return facts;
}

std::uint64_t file_size(const FileDescriptor& file) {
  return static_cast<std::uint64_t>(status_of(file).st_size);
}

std::uint64_t mark_of(const FileDescriptor& file) noexcept {
  std::uint64_t mark = 0;
  (void)::fcntl(file.number(), F_GET_RW_HINT, &mark);
  return mark;
}

void mark(const FileDescriptor& file, std::uint64_t how) noexcept {
  (void)::fcntl(file.number(), F_SET_RW_HINT, &how);
}

/// A lease for reading is given only where nobody can write. It is given back at once.
bool is_open_for_writing(const FileDescriptor& file) noexcept {
  if (::fcntl(file.number(), F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
  (void)::fcntl(file.number(), F_SETLEASE, F_UNLCK);
  return false;
}

bool tells_who_writes(const FileDescriptor& file) noexcept {
  FileDescriptor writer;
  as_owner(file, W_OK, [&] { writer = FileDescriptor(::open(link_to(file).c_str(), O_WRONLY | O_CLOEXEC)); });
  const bool is_told = writer && is_open_for_writing(file);
  writer.reset();
  return is_told && ::fcntl(file.number(), F_SETLEASE, F_RDLCK) == 0 &&
         ::fcntl(file.number(), F_SETLEASE, F_UNLCK) == 0;
}

namespace {

/// Nobody has it mapped for writing. F_SEAL_WRITE would look at each page, and wait for all processors.
bool add_seals(const FileDescriptor& writable) noexcept {
  const int size_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
  return ::fcntl(writable.number(), F_ADD_SEALS, size_seals | F_SEAL_FUTURE_WRITE) == 0 ||
         ::fcntl(writable.number(), F_ADD_SEALS, size_seals | F_SEAL_WRITE) == 0;
}

}  // namespace

namespace {

bool add_seals_by_any(const FileDescriptor& file) {
  if (add_seals(file)) return true;
  FileDescriptor writable;
  int trouble = 0;
  as_owner(file, R_OK | W_OK, [&] {
    writable = FileDescriptor(::open(link_to(file).c_str(), O_RDWR | O_CLOEXEC));
    trouble = errno;
  });
  errno = trouble;
  if (!writable && lacks_descriptors(trouble)) fail_to_open();
  return writable && add_seals(writable);
}

}  // namespace

bool seal(const FileDescriptor& file) {
  return !is_open_for_writing(file) && add_seals_by_any(file);
}

void seal_for_others(const FileDescriptor& file) {
  if (!is_sealed(file) && !add_seals_by_any(file))
    throw IoError(NC_EIO, errno, "a file that was written by the C library", "seal");
}

bool is_sealed(const FileDescriptor& file) noexcept {
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  return seals < 0 || (seals & F_SEAL_SEAL) != 0;
}

/// A lease for writing is given only where nobody else has opened the file.
bool is_alone(const FileDescriptor& file) noexcept {
  if (is_sealed(file)) return false;
  const FileDescriptor reader(::open(link_to(file).c_str(), O_RDONLY | O_CLOEXEC));
  return reader && ::fcntl(reader.number(), F_SETLEASE, F_WRLCK) == 0 &&
         ::fcntl(reader.number(), F_SETLEASE, F_UNLCK) == 0;
}

namespace {

/// It is sealed against shrinking; or it is on the spill disk, has no name, and nobody else has it.
bool keeps_size(const FileDescriptor& file) {
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0) return true;
  const bool is_sealable = seals >= 0 && (seals & F_SEAL_SEAL) == 0;
  return !is_sealable && status_of(file).st_nlink == 0;
}

}  // namespace

FileContents::FileContents(const FileDescriptor& file) {
  const std::uint64_t bytes = file_size(file);
  if (bytes == 0) return;
  const bool is_mapped = keeps_size(file);
  const int descriptor = is_mapped ? file.number() : -1;
  const int kind = is_mapped ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const memory =
      ::mmap(nullptr, bytes, is_mapped ? PROT_READ : PROT_READ | PROT_WRITE, kind, descriptor, 0);
  if (memory == MAP_FAILED)
    throw IoError(NC_ENOMEM, errno, "a file that was written by the C library", "map");
  bytes_ = {static_cast<std::byte*>(memory), bytes};
  const int trouble = is_mapped ? 0 : read_range(file, 0, bytes_);
  if (trouble == 0) return;
  ::munmap(memory, bytes);
  throw IoError(NC_EIO, trouble, "a file that was written by the C library", "read");
}

FileContents::~FileContents() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
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

void set_times(const FileDescriptor& file, const struct stat& facts) noexcept {
  const timespec times[] = {facts.st_atim, facts.st_mtim};
  (void)::futimens(file.number(), times);
}

void set_owner(const FileDescriptor& file, const struct stat& facts) noexcept {
  struct stat now {};
  if (::fstat(file.number(), &now) != 0 || (now.st_uid == facts.st_uid && now.st_gid == facts.st_gid)) return;
  const bool is_given = ::fchown(file.number(), facts.st_uid, facts.st_gid) == 0;
  if (is_given) (void)::fchmod(file.number(), mode_of(now.st_mode));  // set-id bits go with the owner
}

void copy_times(const FileDescriptor& from, const FileDescriptor& to) noexcept {
  struct stat facts {};
  if (::fstat(from.number(), &facts) == 0) set_times(to, facts);
}

namespace {

bool is_same_time(const timespec& a, const timespec& b) noexcept {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Whether nobody has replaced or changed the file on disk in between.
bool is_as_it_was(const struct stat& before, const struct stat& now) noexcept {
  return before.st_dev == now.st_dev && before.st_ino == now.st_ino && before.st_size == now.st_size &&
         before.st_mode == now.st_mode && is_same_time(before.st_mtim, now.st_mtim);
}

}  // namespace

void set_facts(const std::string& path, const struct stat& before, const struct stat& wanted) noexcept {
  const bool has_mode = mode_of(wanted.st_mode) == mode_of(before.st_mode);
  const bool has_owner = wanted.st_uid == before.st_uid && wanted.st_gid == before.st_gid;
  const bool has_time = is_same_time(wanted.st_mtim, before.st_mtim);
  if (has_mode && has_owner && has_time) return;
  struct stat now {};
  const FileDescriptor file(::open(path.c_str(), O_PATH | O_CLOEXEC));  // it may allow no reading
  if (!file || ::fstat(file.number(), &now) != 0 || !is_as_it_was(before, now)) return;
  const std::string link = link_to(file);
  if (!has_owner) (void)!::chown(link.c_str(), wanted.st_uid, wanted.st_gid);  // as the owner may
  if (!has_mode || !has_owner) (void)::chmod(link.c_str(), mode_of(wanted.st_mode));
  const timespec times[] = {wanted.st_atim, wanted.st_mtim};
  if (!has_time) (void)::utimensat(AT_FDCWD, link.c_str(), times, 0);
}

void copy_facts(const FileDescriptor& from, const FileDescriptor& to) noexcept {
  struct stat wanted {
  }, known{};
  if (::fstat(from.number(), &wanted) != 0 || ::fstat(to.number(), &known) != 0) return;
  if (mode_of(wanted.st_mode) != mode_of(known.st_mode)) (void)::fchmod(to.number(), mode_of(wanted.st_mode));
  if (!is_same_time(wanted.st_mtim, known.st_mtim)) set_times(to, wanted);
}

namespace {

/// `transfer`: pread or pwrite of a part at its offset.
template <class Bytes, class Transfer>
int transfer_all(std::uint64_t offset, Bytes bytes, const Transfer& transfer) {
  while (!bytes.empty()) {
    const ssize_t done = transfer(bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return 0;
}

}  // namespace

int read_range(const FileDescriptor& file, std::uint64_t offset, std::span<std::byte> bytes) {
  return transfer_all(offset, bytes, [&](std::span<std::byte> part, off_t at) {
    return ::pread(file.number(), part.data(), part.size(), at);
  });
}

int write_range(const FileDescriptor& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  return transfer_all(offset, bytes, [&](std::span<const std::byte> part, off_t at) {
    return ::pwrite(file.number(), part.data(), part.size(), at);
  });
}

FileDescriptor become(const FileDescriptor& to, const FileDescriptor& from) {
  const struct stat facts = status_of(from);
  const FileDescriptor writer(::open(link_to(to).c_str(), O_WRONLY | O_CLOEXEC));
  const int trouble = writer ? copy_bytes(from, writer) : errno;
  if (trouble != 0) throw IoError(NC_EIO, trouble, "a file on the spill disk", "write");
  FileDescriptor file;
  if (::ftruncate(writer.number(), facts.st_size) == 0) file = for_reading(writer, facts.st_mode);
  if (!file) throw IoError(NC_EIO, errno, "a file on the spill disk", "open");
  return file;
}

namespace {

std::string remedy_for(int trouble, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "the working directory" : path.substr(0, slash);
  switch (trouble) {
    case ENOSPC:
    case EDQUOT:
      return "Free space in " + directory + ", or write to another disk";
    case EFBIG:
      return "Raise the limit of file sizes (ulimit -f), or write smaller files";
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
      return "Move away what has the name and is no file";
    default:
      return "See whether files can be made in " + directory;
  }
}

}  // namespace

void write_file(const FileDescriptor& from, const std::string& path) {
  const std::string partial = storage::partial_path(path, 1);
  (void)::unlink(partial.c_str());
  const FileDescriptor to(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  int trouble = to ? copy_bytes(from, to) : errno;
  if (trouble == 0) set_owner(to, status_of(from));
  if (trouble == 0 && ::fchmod(to.number(), mode_of(status_of(from).st_mode)) != 0) trouble = errno;
  if (trouble == 0 && ::rename(partial.c_str(), path.c_str()) != 0) trouble = errno;
  if (trouble == 0) return;
  if (to) (void)::unlink(partial.c_str());
  throw Error(NC_EIO,
              std::string(IoError(NC_EIO, trouble, path, "write").what()) + ". " + remedy_for(trouble, path));
}

/// Read, not mapped: others may cut a file on disk meanwhile.
bool have_same_bytes(const FileDescriptor& a, const FileDescriptor& b) {
  constexpr std::size_t piece = std::size_t{256} << 10;
  std::vector<std::byte> first(piece), second(piece);
  for (off_t offset = 0;;) {
    const ssize_t here = ::pread(a.number(), first.data(), piece, offset);
    const ssize_t there = ::pread(b.number(), second.data(), piece, offset);
    if (here < 0 || here != there) return false;
    if (here == 0) return true;
    if (std::memcmp(first.data(), second.data(), static_cast<std::size_t>(here)) != 0) return false;
    offset += here;
  }
}

namespace {

/// The access rights of nobody: the file is there already.
int flags_of_reopening(std::uint32_t flags) noexcept {
  return static_cast<int>((flags & ~static_cast<std::uint32_t>(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC);
}

}  // namespace

std::shared_ptr<const FileDescriptor> reopened(const FileDescriptor& file, std::uint32_t flags) {
  FileDescriptor opened(::open(link_to(file).c_str(), flags_of_reopening(flags)));
  const bool is_for_reading = (flags & (O_ACCMODE | O_TRUNC | O_CREAT)) == O_RDONLY;
  if (!opened && errno == EACCES && is_for_reading)
    opened = FileDescriptor(::open(link_to(file).c_str(), O_PATH | O_CLOEXEC));
  if (!opened) fail_to_open();
  return std::make_shared<const FileDescriptor>(std::move(opened));
}

namespace {

int access_of(std::uint32_t flags) noexcept {
  const int access = static_cast<int>(flags & O_ACCMODE);
  return (access != O_WRONLY ? R_OK : 0) | (access != O_RDONLY || (flags & O_TRUNC) != 0 ? W_OK : 0);
}

bool may_access(const FileDescriptor& file, int wanted) noexcept {
  return ::faccessat(AT_FDCWD, link_to(file).c_str(), wanted, AT_EACCESS) == 0;
}

}  // namespace

SharedFile reopened_by_owner(const FileDescriptor& file, std::uint32_t flags) {
  SharedFile opened;
  as_owner(file, access_of(flags), [&] { opened = reopened(file, flags); });
  return opened;
}

/// A seal is for ever, and the file may become a spare one.
SharedFile for_reader(const SharedFile& file) {
  if (is_sealed(*file)) return file;
  try {
    return reopened_by_owner(*file, O_RDONLY);
  } catch (const Error&) {  // no descriptor is left
    seal_for_others(*file);
    return file;
  }
}

bool may_be_opened(const FileDescriptor& file, std::uint32_t flags) noexcept {
  return may_access(file, access_of(flags));
}

/// What the program has set meanwhile stays.
void as_owner(const FileDescriptor& file, int wanted, const std::function<void()>& work) {
  struct stat before {
  }, facts{};
  if (may_access(file, wanted) || ::fstat(file.number(), &before) != 0) return work();
  const mode_t more = mode_of(before.st_mode) | S_IRUSR | S_IWUSR;
  (void)::fchmod(file.number(), more);
  const auto restore = [&] {
    if (::fstat(file.number(), &facts) == 0 && mode_of(facts.st_mode) == more)
      (void)::fchmod(file.number(), mode_of(before.st_mode));
  };
  try {
    work();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

}  // namespace sluice::runtime
