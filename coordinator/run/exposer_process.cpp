#include "exposer_process.hpp"

#include <csignal>
#include <utility>

#include "child_process.hpp"
#include "exposer.hpp"

namespace sluice::coordinator {

void ExposerProcess::start(std::function<void()> on_end) {
  if (!exposes_files(setting_.workflow)) return;
  process_ = std::make_unique<SupervisedProcess>(
      setting_.loop, setting_.console, "expose",
      plan_exposer(setting_.installation, setting_.directory, setting_.workflow),
      SupervisedProcess::Launching{}, SupervisedProcess::Callbacks{[] {}, std::move(on_end)});
}

void ExposerProcess::stop() noexcept {
  if (!process_ || process_->end()) return;
  process_->signal_group(SIGKILL);
  wait_for_end(process_->id());
  process_.reset();
}

void ExposerProcess::reap() {
  if (process_) process_->reap();
}

}  // namespace sluice::coordinator
