#include "writer_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <thread>

namespace sluice::api {
namespace {

// Offsets at which no data can lie: the last bytes of 63 bits.
constexpr off_t presence_byte = std::numeric_limits<off_t>::max() - 2;
constexpr off_t holding_byte = std::numeric_limits<off_t>::max() - 1;

/// A lock of the open file, not of the process, so two communicators of one process see each other's lock.
struct flock lock_of(short type, off_t byte) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

bool set_lock(int file, short type, off_t byte) noexcept {
  auto lock = lock_of(type, byte);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

WriterLock::WriterLock(const std::string& path) noexcept : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
  if (!file_) return;
  // A job that was stopped in the middle of a put must not block other jobs forever.
  constexpr int milliseconds = 5000;
  for (int i = 0; i < milliseconds && !set_lock(file_.number(), F_WRLCK, holding_byte); ++i) {
    auto lock = lock_of(F_WRLCK, holding_byte);
    if (::fcntl(file_.number(), F_OFD_GETLK, &lock) != 0) break;  // the file system has no locks
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!set_lock(file_.number(), F_RDLCK, presence_byte)) file_.reset();
  release();
}

bool WriterLock::hold_off() noexcept {
  if (!file_ || !set_lock(file_.number(), F_RDLCK, holding_byte)) return false;
  auto others = lock_of(F_WRLCK, presence_byte);
  const bool is_alone = ::fcntl(file_.number(), F_OFD_GETLK, &others) == 0 && others.l_type == F_UNLCK;
  if (!is_alone) release();
  return is_alone;
}

void WriterLock::release() noexcept {
  if (file_) set_lock(file_.number(), F_UNLCK, holding_byte);
}

bool has_writers(const std::string& path) noexcept {
  const storage::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  auto lock = lock_of(F_WRLCK, presence_byte);
  return file && ::fcntl(file.number(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

WriterLock join_writers(const Communicator& comm, const std::string& path, bool is_local) noexcept {
  return comm.is_root() && is_local ? WriterLock(path) : WriterLock();
}

}  // namespace sluice::api
