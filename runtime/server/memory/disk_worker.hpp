#pragma once
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sluice::runtime {

/// A thread beside the matcher's loop for slow disk operations: it reserves space, returns space, and removes
/// files. Tasks run one after the other, in the order of submission.
class DiskWorker {
 public:
  explicit DiskWorker(boost::asio::io_context& loop) : loop_(loop) {}
  /// Finishes all submitted tasks. The loop must have stopped.
  ~DiskWorker();
  DiskWorker(const DiskWorker&) = delete;
  DiskWorker& operator=(const DiskWorker&) = delete;

  /// The thread calls `work` and destroys it; then the loop calls `then`. Neither may throw.
  void submit(std::function<void()> work, std::function<void()> then = {});
  /// The number of submitted tasks that are not done.
  [[nodiscard]] std::size_t left();

 private:
  struct Task {
    std::function<void()> work;
    std::function<void()> then;
  };
  void run();
  void carry_out(Task task);

  boost::asio::io_context& loop_;
  std::mutex mutex_;  ///< protects the following members
  std::condition_variable has_news_;
  std::deque<Task> queue_;
  bool is_busy_ = false;
  bool is_ending_ = false;
  std::thread thread_;  ///< started with the first task
};

}  // namespace sluice::runtime
