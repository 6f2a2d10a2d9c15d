// How far a run is: asking the matcher, and telling the user.
#include <algorithm>

#include "run.hpp"

namespace sluice::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds tick_on_terminal{250};
constexpr milliseconds tick_in_plain_mode{1000};

}  // namespace

void Run::tick() {
  tick_timer_.expires_after(console_.has_status_line() ? tick_on_terminal : tick_in_plain_mode);
  tick_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || (stage_ != Stage::running && stage_ != Stage::draining)) return;
    ask_for_status();
    tick();
  });
}

void Run::ask_for_status() {
  if (status_asked_ || line_->is_lost()) return;
  status_asked_ = true;
  line_->query_status();
}

void Run::received(const runtime::StatusReport& report) {
  status_asked_ = false;
  outcome_.report = report;
  if (stage_ == Stage::running) show_progress(report);
  if (stage_ == Stage::draining) show_draining(report);
}

void Run::show_progress(const runtime::StatusReport& report) {
  for (const std::string& notice : wait_notices_.due(report)) {
    log("sluice", notice);
    console_.notice(notice);
  }
  const auto running = [this](const std::string& name) {
    return std::ranges::any_of(members_, [&](const Member& member) {
      return member.component->name == name && !member.has_ended();
    });
  };
  for (const std::string& notice : unread_notices_.due(workflow_, report, running)) {
    log("sluice", notice);
    console_.notice(notice);
  }
  show(describe_progress(since_start(), report));
}

/// Waits for the end of all drains; the matcher may still have to hear of the components' ends.
void Run::show_draining(const runtime::StatusReport& report) {
  if (report.drains.empty() && report.components_ended >= members_.size()) return begin_shutdown();
  if (!report.drains.empty()) show(describe_draining(report));
  constexpr milliseconds until_next_look{20};
  drain_timer_.expires_after(until_next_look);
  drain_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && stage_ == Stage::draining) ask_for_status();
  });
}

void Run::show(const std::string& progress) {
  console_.status(progress);
  if (console_.has_status_line() || since_start() < next_progress_) return;
  next_progress_ = since_start() + progress_interval;
  console_.notice(progress);
}

}  // namespace sluice::coordinator
