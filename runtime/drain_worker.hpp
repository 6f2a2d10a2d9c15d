#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "sluice/storage/partial_file.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "step_drain.hpp"

namespace sluice::runtime {

/// What is to be done of a drain.
enum class DrainStage {
  whole,   ///< all of it
  make,    ///< the partial file
  part,    ///< this node's part of it
  finish,  ///< it gets its name
  remove,  ///< it goes
};

/// A thread that drains steps, one after the other, beside the matcher's loop. It has neither MPI nor the
/// registry, nothing but its tasks. What it has to say is posted to the loop.
class DrainWorker {
 public:
  struct Handlers {
    std::function<void(matcher::StepId step, const matcher::DrainProgress& progress)> progress;
    std::function<void(matcher::StepId step, DrainStage stage, const DrainReport& report)> ended;
  };

  /// Both are called from the loop, which must not run any more when this ends.
  DrainWorker(boost::asio::io_context& loop, Handlers handlers);
  /// Gives up what it is doing.
  ~DrainWorker();
  DrainWorker(const DrainWorker&) = delete;
  DrainWorker& operator=(const DrainWorker&) = delete;

  void submit(DrainStage stage, DrainTask task);

 private:
  struct Work {
    DrainStage stage{};
    DrainTask task;
  };
  void work();
  [[nodiscard]] DrainReport report_of(const Work& work);
  [[nodiscard]] DrainReport carry_out(const Work& work);

  boost::asio::io_context& loop_;
  Handlers handlers_;
  std::atomic<bool> is_ending_ = false;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable has_news_;
  std::deque<std::unique_ptr<Work>> queue_;
  storage::PosixFileSystem system_;
  std::map<matcher::StepId, storage::PartialFile> partials_;  ///< of the thread: that several write
  std::thread thread_;                                        ///< from the first task on
};

}  // namespace sluice::runtime
