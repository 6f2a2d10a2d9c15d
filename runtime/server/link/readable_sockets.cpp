#include "readable_sockets.hpp"

#include <algorithm>
#include <cerrno>

namespace sluice::runtime {

ReadableSockets::ReadableSockets() : watch_(::epoll_create1(EPOLL_CLOEXEC)) {}

void ReadableSockets::add(int socket, std::uint64_t number) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = number;
  if (watch_ && ::epoll_ctl(watch_.number(), EPOLL_CTL_ADD, socket, &event) == 0) {
    ++watched_;
  } else {
    unwatched_.insert(number);
  }
}

void ReadableSockets::remove(int socket, std::uint64_t number) noexcept {
  if (unwatched_.erase(number) != 0) return;
  epoll_event event{};
  (void)::epoll_ctl(watch_.number(), EPOLL_CTL_DEL, socket, &event);
  --watched_;
}

std::vector<std::uint64_t> ReadableSockets::ready() {
  std::vector<std::uint64_t> numbers(unwatched_.begin(), unwatched_.end());
  events_.resize(watched_);
  int count = -1;
  while (!events_.empty() && count < 0) {
    count = ::epoll_wait(watch_.number(), events_.data(), static_cast<int>(events_.size()), 0);
    if (count < 0 && errno != EINTR) return numbers;  // it has no other reason with right arguments
  }
  for (int i = 0; i < count; ++i) numbers.push_back(events_[static_cast<std::size_t>(i)].data.u64);
  return numbers;
}

}  // namespace sluice::runtime
