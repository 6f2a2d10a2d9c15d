#include "file_watch.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

using boost::asio::posix::stream_descriptor;

FileWatch::FileWatch(boost::asio::io_context& loop, std::function<void(int watch)> closed)
    : closed_(std::move(closed)), inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), news_(loop) {
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
    take_news();
    listen();
  });
}

int FileWatch::add(const FileDescriptor& file) {
  const std::string link = "/proc/self/fd/" + std::to_string(file.number());
  const int watch = inotify_ ? ::inotify_add_watch(inotify_.number(), link.c_str(), IN_CLOSE_WRITE) : -1;
  if (watch < 0) {
    throw IoError(NC_ENFILE, errno, "a file that is written by the C library",
                  "watch (raise fs.inotify.max_user_watches or fs.inotify.max_user_instances)");
  }
  return watch;
}

void FileWatch::remove(int watch) noexcept {
  (void)::inotify_rm_watch(inotify_.number(), watch);
}

void FileWatch::take_news() {
  if (!inotify_) return;
  for (;;) {
    alignas(inotify_event) std::array<char, 4096> bytes{};
    const ssize_t length = ::read(inotify_.number(), bytes.data(), bytes.size());
    if (length <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & IN_CLOSE_WRITE) != 0) closed_(event.wd);
    }
  }
}

}  // namespace sluice::runtime
