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

/// The stages of a drain.
enum class DrainStage {
  whole,   ///< the whole drain
  make,    ///< the partial file
  part,    ///< this node's part of it
  image,   ///< the image of the file, instead of a file
  finish,  ///< the file gets its name
  remove,  ///< the file is removed
};

/// A thread that drains steps, one after the other, beside the matcher's loop. It has no MPI and no registry,
/// only its tasks. It posts its results to the loop.
class DrainWorker {
 public:
  struct Handlers {
    std::function<void(matcher::StepId step, const matcher::DrainProgress& progress)> progress;
    std::function<void(matcher::StepId step, DrainStage stage, const DrainReport& report)> ended;
  };

  /// Both handlers are called from the loop. The loop must have stopped when this object is destroyed.
  DrainWorker(boost::asio::io_context& loop, Handlers handlers);
  /// Aborts the current task.
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
  [[nodiscard]] DrainReport report_of(Work& work);
  [[nodiscard]] DrainReport carry_out(const Work& work);

  boost::asio::io_context& loop_;
  Handlers handlers_;
  std::atomic<bool> is_ending_ = false;
  std::mutex mutex_;  ///< protects the following members
  std::condition_variable has_news_;
  std::deque<std::unique_ptr<Work>> queue_;
  storage::PosixFileSystem system_;
  /// used by the thread: files that several nodes write
  std::map<matcher::StepId, storage::PartialFile> partials_;
  std::thread thread_;  ///< started with the first task
};

}  // namespace sluice::runtime
