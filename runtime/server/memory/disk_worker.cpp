#include "disk_worker.hpp"

#include <boost/asio/post.hpp>
#include <system_error>
#include <utility>

namespace sluice::runtime {

DiskWorker::~DiskWorker() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_news_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DiskWorker::submit(std::function<void()> work, std::function<void()> then) {
  Task task{std::move(work), std::move(then)};
  bool is_queued = false;
  {
    const std::lock_guard lock(mutex_);
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      queue_.push_back(std::move(task));
      is_queued = true;
    } catch (const std::system_error&) {
      // No thread can be started: the loop does the work itself.
    }
  }
  if (!is_queued) return carry_out(std::move(task));
  has_news_.notify_all();
}

std::size_t DiskWorker::left() {
  const std::lock_guard lock(mutex_);
  return queue_.size() + (is_busy_ ? 1 : 0);
}

void DiskWorker::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_news_.wait(lock, [&] { return is_ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    lock.unlock();
    carry_out(std::move(task));
    lock.lock();
    is_busy_ = false;
  }
}

/// Destroys the work before the loop learns of its end, because this may free disk space.
void DiskWorker::carry_out(Task task) {
  task.work();
  task.work = nullptr;
  if (task.then) boost::asio::post(loop_, std::move(task.then));
}

}  // namespace sluice::runtime
