#include "drain_worker.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::runtime {

DrainWorker::DrainWorker(boost::asio::io_context& loop, Handlers handlers)
    : loop_(loop), handlers_(std::move(handlers)) {}

DrainWorker::~DrainWorker() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_news_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DrainWorker::submit(DrainTask task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::make_unique<DrainTask>(std::move(task)));
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  has_news_.notify_all();
}

void DrainWorker::work() {
  for (;;) {
    std::unique_ptr<DrainTask> task;
    {
      std::unique_lock lock(mutex_);
      has_news_.wait(lock, [&] { return is_ending_ || !tasks_.empty(); });
      if (is_ending_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    DrainReport report = drain(*task);
    const matcher::StepId step = task->view->step;
    task.reset();  // the mappings are gone before others get the memory
    boost::asio::post(loop_, [this, step, report = std::move(report)] { handlers_.ended(step, report); });
  }
}

DrainReport DrainWorker::drain(const DrainTask& task) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds between_reports{100};
  auto next_report = Clock::now() + between_reports;
  const auto watch = [&](const matcher::DrainProgress& progress) {
    if (is_ending_) throw Error(NC_EIO, "the run was ended");
    const auto now = Clock::now();
    if (now < next_report) return;
    next_report = now + between_reports;
    boost::asio::post(loop_,
                      [this, step = task.view->step, progress] { handlers_.progress(step, progress); });
  };
  storage::PosixFileSystem system;
  try {
    return {NC_NOERR, {}, drain_step(system, task, watch)};
  } catch (const Error& error) {
    return {error.status(), error.what(), 0};
  } catch (const std::exception& error) {  // no memory
    return {NC_ENOMEM, task.order.path + ": " + error.what(), 0};
  }
}

}  // namespace sluice::runtime
