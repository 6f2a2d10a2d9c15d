#include "warm_memory.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <utility>

namespace sluice::runtime {
namespace {

/// Bytes made at a time: a user that needs memory under way waits only for this much.
constexpr std::uint64_t step_bytes = std::uint64_t{64} << 10;

/// Changes the calling thread: other threads get signals first, and the processor whenever they need it.
void become_humble() noexcept {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  constexpr int low = 10;  // with the lowest priority, a user waiting for a block would wait too long
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), low);
}

/// Clearing 1 MiB takes 0.1 ms; when the host has to find the memory, 2.5 ms were seen. The judgement uses
/// this many bytes.
constexpr std::uint64_t judged_bytes = std::uint64_t{8} << 20;
constexpr std::uint64_t costly_us_per_mebibyte = 500;

/// For the calling thread.
std::uint64_t processor_time_us() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

/// Takes the pages by writing to the file. This does not need the address space's lock, which the matcher
/// needs to map segments. It also avoids a page fault for each page.
bool make_pages(const FileDescriptor& file, std::uint64_t first, std::uint64_t end) noexcept {
  static constexpr std::array<std::byte, step_bytes> zeros{};
  return ::pwrite(file.number(), zeros.data(), end - first, static_cast<off_t>(first)) ==
         static_cast<ssize_t>(end - first);
}

}  // namespace

WarmMemory::WarmMemory(FileDescriptor file, std::uint64_t bytes)
    : file_(std::make_shared<const FileDescriptor>(std::move(file))), end_(bytes) {
  thread_ = std::thread([this] { work(); });
}

WarmMemory::~WarmMemory() {
  drop();
  thread_.join();
}

void WarmMemory::work() {
  become_humble();
  const std::uint64_t begin_us = processor_time_us();
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::uint64_t first = std::max(first_, warm_end_);
    const std::uint64_t end = std::min(end_, first + step_bytes);
    if (first >= end) break;
    busy_ = {end - first, first};
    lock.unlock();
    const bool is_made = make_pages(*file_, first, end);
    if (end >= judged_bytes)
      is_costly_ = processor_time_us() - begin_us > costly_us_per_mebibyte * (end >> 20);
    lock.lock();
    if (!is_made) break;  // the system has no memory: the rest stays cold
    warm_end_ = std::max(warm_end_, end);
    has_moved_.notify_all();
  }
  busy_ = {};
  is_done_ = true;
  has_moved_.notify_all();
}

/// Waits until the thread works only between `first_` and `end_`, one of which was moved.
void WarmMemory::settle(std::unique_lock<std::mutex>& lock) {
  has_moved_.wait(lock, [&] {
    return busy_.bytes == 0 || (first_ <= busy_.offset_bytes && busy_.offset_bytes + busy_.bytes <= end_);
  });
  warm_end_ = std::clamp(warm_end_, first_, end_);
}

std::optional<WarmMemory::Range> WarmMemory::cut(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  if (bytes > end_ - first_) return std::nullopt;
  const std::uint64_t warm_bytes = std::min(bytes, warm_end_ - first_);
  const bool is_in_front = 8 * warm_bytes >= bytes;  // for less, a wait for the thread does not pay
  if (is_in_front) {
    first_ += bytes;
    used_bytes_ += warm_bytes;
  } else {
    end_ -= bytes;
  }
  settle(lock);
  return Range{{bytes, is_in_front ? first_ - bytes : end_}, is_in_front && warm_bytes == bytes};
}

void WarmMemory::drop() noexcept {
  std::unique_lock lock(mutex_);
  const std::uint64_t first = first_;
  const std::uint64_t end = end_;
  end_ = first_;
  settle(lock);
  if (end > first)
    ::fallocate(file_->number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                static_cast<off_t>(end - first));
}

std::uint64_t WarmMemory::warm_bytes() const {
  const std::scoped_lock lock(mutex_);
  return warm_end_ - first_;
}

void WarmMemory::wait() const {
  std::unique_lock lock(mutex_);
  has_moved_.wait(lock, [&] { return is_done_; });
}

}  // namespace sluice::runtime
