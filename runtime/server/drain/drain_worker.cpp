#include "drain_worker.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {
namespace {

/// A symbolic link at the path stays; the file that it names is replaced.
std::string behind_links(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

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

void DrainWorker::submit(DrainStage stage, DrainTask task) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::make_unique<Work>(Work{stage, std::move(task)}));
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  has_news_.notify_all();
}

void DrainWorker::work() {
  for (;;) {
    std::unique_ptr<Work> next;
    {
      std::unique_lock lock(mutex_);
      has_news_.wait(lock, [&] { return is_ending_ || !queue_.empty(); });
      if (is_ending_) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    DrainReport report = report_of(*next);
    const matcher::StepId step = next->task.view->step;
    const DrainStage stage = next->stage;
    next.reset();  // unmap before the memory is lent to others
    boost::asio::post(
        loop_, [this, step, stage, report = std::move(report)] { handlers_.ended(step, stage, report); });
  }
}

DrainReport DrainWorker::report_of(Work& work) {
  try {
    if (work.stage == DrainStage::whole || work.stage == DrainStage::make)
      work.task.order.path = behind_links(work.task.order.path);
    return carry_out(work);
  } catch (const Error& error) {
    return {error.status(), error.what(), 0};
  } catch (const std::exception& error) {  // no memory
    return {NC_ENOMEM, work.task.order.path + ": " + error.what(), 0};
  }
}

DrainReport DrainWorker::carry_out(const Work& work) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds between_reports{100};
  auto next_report = Clock::now() + between_reports;
  const auto watch = [&](const matcher::DrainProgress& progress) {
    if (is_ending_) throw Error(NC_EIO, "the run was ended");
    const auto now = Clock::now();
    if (now < next_report) return;
    next_report = now + between_reports;
    boost::asio::post(loop_,
                      [this, step = work.task.view->step, progress] { handlers_.progress(step, progress); });
  };
  const matcher::StepId step = work.task.view->step;
  DrainReport report{NC_NOERR, {}, 0};
  switch (work.stage) {
    case DrainStage::whole:
      report.bytes = drain_step(system_, work.task, watch);
      break;
    case DrainStage::make:
      partials_.erase(step);
      report.partial = partials_.try_emplace(step, system_, work.task.order.path).first->second.path();
      break;
    case DrainStage::part:
      report.bytes = drain_part(system_, work.task, watch);
      break;
    case DrainStage::image:
      report.bytes = make_image(system_, work.task, watch);
      break;
    case DrainStage::finish:
      publish_drained(system_, partials_.at(step), work.task, watch);
      partials_.erase(step);
      break;
    case DrainStage::remove:
      partials_.erase(step);
      break;
  }
  return report;
}

}  // namespace sluice::runtime
