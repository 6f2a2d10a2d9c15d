// How far a run is: asking the matcher, and telling the user.
#include <algorithm>
#include <fstream>
#include <span>
#include <utility>

#include "format.hpp"
#include "run.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds tick_on_terminal{250};
constexpr milliseconds tick_in_plain_mode{1000};
constexpr milliseconds longest_silence{3000};  ///< of a matcher, before it is told of

/// What the system says of a process: field 3 of /proc/PID/stat, behind its name in parentheses.
char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ? '?' : line[name_end + 2];
}

/// The first of the matchers on this machine that stands still, and why.
std::string describe_standstill(std::span<const pid_t> matchers) {
  for (const pid_t matcher : matchers) {
    const char state = state_of(matcher);
    const std::string which = "the matcher (process " + std::to_string(matcher) + ") ";
    if (state == 'T') return which + "is stopped: kill -CONT " + std::to_string(matcher) + " lets it go on";
    if (state == 'D') return which + "waits for a disk";
  }
  return "the matcher is busy or stuck";
}

}  // namespace

void Run::tick() {
  tick_timer_.expires_after(console_.has_status_line() ? tick_on_terminal : tick_in_plain_mode);
  tick_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || (stage_ != Stage::running && stage_ != Stage::draining)) return;
    ask_for_status();
    look_for_answer();
    tick();
  });
}

void Run::ask_for_status() {
  if (status_asked_ || line_->is_lost()) return;
  status_asked_ = true;
  status_asked_at_ = std::chrono::steady_clock::now();
  line_->query_status();
}

/// A matcher answers at once. One that does not holds up every process that asks it for something.
void Run::look_for_answer() {
  const auto silence = std::chrono::steady_clock::now() - status_asked_at_;
  if (!status_asked_ || is_silence_told_ || silence < longest_silence) return;
  is_silence_told_ = true;
  const std::vector<pid_t> matchers =
      matchers_.is_job() ? runtime::processes_with_environment(runtime::matcher_mark(directory_.socket()))
                         : std::vector<pid_t>{matcher_->id()};
  const std::string notice = describe_standstill(matchers) + "; it has not answered for " +
                             format_duration(std::chrono::duration_cast<milliseconds>(silence)) +
                             ", and coupled calls of the components wait for it";
  log("sluice", notice);
  console_.notice(notice);
}

void Run::received(const runtime::StatusReport& report) {
  status_asked_ = false;
  if (std::exchange(is_silence_told_, false)) {
    log("sluice", "the matcher answers again");
    console_.notice("the matcher answers again");
  }
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
