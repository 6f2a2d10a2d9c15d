#include "run_recorder.hpp"

#include <algorithm>
#include <sstream>

#include "status_text.hpp"

namespace sluice::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_interval{500};
/// Each time that so many views have been recorded, the interval doubles: a year has 60 000 of them.
constexpr std::uint64_t views_of_an_interval = 4000;

}  // namespace

RunRecorder::RunRecorder(RunSetting& setting, MatcherProcess& matcher, std::int64_t began)
    : setting_(setting),
      matcher_(matcher),
      timeline_(setting.log_directory, setting.workflow, began),
      timer_(setting.loop) {}

std::uint64_t RunRecorder::since_start() const {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - started_).count());
}

void RunRecorder::begin() {
  for (const workflows::Component& component : setting_.workflow.components)
    timeline_.component_started(component.name, since_start());
  if (setting_.keeps_record("timeline")) ask_later();
}

void RunRecorder::component_ended(const std::string& name, const std::string& how,
                                  std::chrono::milliseconds processor_time) {
  timeline_.component_ended(name, since_start(), how, static_cast<std::uint64_t>(processor_time.count()));
}

void RunRecorder::ask() {
  if (matcher_.is_line_lost()) return;
  ++questions_;
  matcher_.watch({.has_activities = true, .after_activity = last_activity_},
                 [this](runtime::RunView view) { take(std::move(view)); });
}

void RunRecorder::ask_later() {
  timer_.expires_after(first_interval *
                       (1 << std::min<std::uint64_t>(timeline_.views() / views_of_an_interval, 20)));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (questions_ == 0) ask();  // a matcher that is stopped is asked once
    ask_later();
  });
}

void RunRecorder::take(runtime::RunView view) {
  --questions_;
  drop_known(view);
  timeline_.add(view, since_start());
  last_activity_ = view.last_activity;
  last_ = {std::move(view.rules), std::move(view.uses), since_start()};
}

/// The last question may have been asked before the answer to another one had come.
void RunRecorder::drop_known(runtime::RunView& view) const {
  const std::uint64_t before = view.last_activity - view.activities.size();
  const std::uint64_t known = last_activity_ - std::min(last_activity_, before);
  const auto end = view.activities.begin() +
                   static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(known, view.activities.size()));
  view.activities.erase(view.activities.begin(), end);
}

void RunRecorder::print() {
  matcher_.watch({}, [this](const runtime::RunView& view) {
    std::istringstream text(describe_status(view));
    for (std::string line; std::getline(text, line);) setting_.console.error(line);
  });
}

void RunRecorder::ask_last() {
  timer_.cancel();
  ask();
}

}  // namespace sluice::coordinator
