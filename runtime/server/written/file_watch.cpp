#include "file_watch.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

using boost::asio::posix::stream_descriptor;

namespace {

/// Longer than it takes to write a small file.
constexpr std::chrono::milliseconds youth{2};
/// Where the kernel watches no more files.
constexpr std::chrono::milliseconds between_looks{20};
/// More of them would cost each other more than the kernel's watches.
constexpr std::size_t most_young = 16;

}  // namespace

FileWatch::FileWatch(boost::asio::io_context& loop, std::function<void(int watch)> closed)
    : closed_(std::move(closed)),
      inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      news_(loop),
      timer_(loop) {
  // Who opens a file while the lease is held makes the kernel send this signal.
  (void)std::signal(SIGIO, SIG_IGN);
  if (!inotify_) return;  // add() tells
  news_.assign(inotify_.number());
  listen();
}

FileWatch::~FileWatch() {
  if (news_.is_open()) news_.release();
}

void FileWatch::listen() {
  news_.async_wait(stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    take_events();
    listen();
  });
}

/// False and errno where that fails.
bool FileWatch::ask_kernel(int watch, const FileDescriptor& file) {
  const std::string link = link_to(file);
  const int of_kernel = inotify_ ? ::inotify_add_watch(inotify_.number(), link.c_str(), IN_CLOSE_WRITE) : -1;
  if (of_kernel < 0) return false;
  by_kernel_.emplace(of_kernel, watch);
  of_kernel_[watch] = of_kernel;
  return true;
}

int FileWatch::add(const FileDescriptor& file) {
  if (!ask_kernel(++last_, file)) {
    throw IoError(NC_ENFILE, errno, "a file that is written by the C library",
                  "watch (raise fs.inotify.max_user_watches or fs.inotify.max_user_instances)");
  }
  return last_;
}

int FileWatch::add_later(const FileDescriptor& file) {
  ++last_;
  if (young_.size() >= most_young && !lacks_watches_) {
    if (ask_kernel(last_, file)) return last_;
    lacks_watches_ = true;
  }
  young_.push_back({last_, &file});
  if (!is_timer_set_) wait_for_young();
  return last_;
}

void FileWatch::ask_early(int watch) {
  const auto young = std::ranges::find(young_, watch, &Young::watch);
  if (young != young_.end() && ask_kernel(watch, *young->file)) young_.erase(young);
}

void FileWatch::remove(int watch) noexcept {
  std::erase_if(young_, [&](const Young& young) { return young.watch == watch; });
  const auto known = of_kernel_.extract(watch);
  if (known.empty()) return;
  const int of_kernel = known.mapped();
  const auto [begin, end] = by_kernel_.equal_range(of_kernel);
  by_kernel_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == watch; }));
  if (!by_kernel_.contains(of_kernel)) (void)::inotify_rm_watch(inotify_.number(), of_kernel);
}

void FileWatch::wait_for_young() {
  is_timer_set_ = true;
  timer_.expires_after(lacks_watches_ ? between_looks : youth);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    is_timer_set_ = false;
    grow_up();
    if (!young_.empty()) wait_for_young();
  });
}

/// What has been closed before the kernel watches it is told here.
void FileWatch::grow_up() {
  lacks_watches_ = false;
  for (const Young& young : young_)
    if (!ask_kernel(young.watch, *young.file)) lacks_watches_ = true;
  look_at_young();
  std::erase_if(young_, [&](const Young& young) { return of_kernel_.contains(young.watch); });
}

void FileWatch::look_at_young() {
  const auto young = young_;  // `closed` removes what it is told of
  for (const Young& one : young) {
    const bool is_there = std::ranges::find(young_, one.watch, &Young::watch) != young_.end();
    if (is_there && !is_open_for_writing(*one.file)) closed_(one.watch);
  }
}

void FileWatch::take_news() {
  look_at_young();
  if (!of_kernel_.empty()) take_events();
}

/// The caller removes what it is told of.
void FileWatch::tell(int of_kernel) {
  std::vector<int> watches;
  const auto [begin, end] = by_kernel_.equal_range(of_kernel);
  for (auto entry = begin; entry != end; ++entry) watches.push_back(entry->second);
  for (const int watch : watches) {
    if (of_kernel_.contains(watch)) closed_(watch);
  }
}

/// The kernel has dropped news: each file may have been closed.
void FileWatch::tell_all() {
  const auto watches = of_kernel_;
  for (const auto& [watch, of_kernel] : watches) {
    if (of_kernel_.contains(watch)) closed_(watch);
  }
}

/// Who is told of one file may take the next open, which has to hear of all that were read.
void FileWatch::take_events() {
  if (!inotify_) return;
  for (;;) {
    alignas(inotify_event) std::array<char, 4096> bytes{};
    const ssize_t length = ::read(inotify_.number(), bytes.data(), bytes.size());
    if (length <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & (IN_CLOSE_WRITE | IN_Q_OVERFLOW)) != 0) untold_.push_back(event.wd);
    }
  }
  while (!untold_.empty()) {
    const int of_kernel = untold_.front();
    untold_.pop_front();
    of_kernel < 0 ? tell_all() : tell(of_kernel);  // some were lost, or one
  }
}

}  // namespace sluice::runtime
