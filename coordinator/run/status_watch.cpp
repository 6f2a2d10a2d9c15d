#include "status_watch.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "format.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_progress{10'000};     ///< lines without a terminal
constexpr milliseconds longest_progress{300'000};  ///< between two of these lines, in a long run
constexpr milliseconds longest_silence{3000};      ///< until a silent matcher is reported

char state_of(pid_t process) {
  return runtime::process_state("/proc/" + std::to_string(process));
}

/// Names the first matcher on this machine that is stopped, and the reason.
std::string describe_standstill(std::span<const pid_t> matchers) {
  for (const pid_t matcher : matchers) {
    const char state = state_of(matcher);
    const std::string which = "the matcher (process " + std::to_string(matcher) + ") ";
    if (state == 'T') return which + "is stopped (kill -CONT " + std::to_string(matcher) + " continues it)";
    if (state == 'D') return which + "waits for a disk";
  }
  return "the matcher is busy or stuck";
}

std::string describe_silent(const matcher::SilentMatcher& matcher, std::span<const pid_t> on_this_machine) {
  const auto process = static_cast<pid_t>(matcher.process);
  std::string which = "matcher " + std::to_string(matcher.rank) + " on " +
                      (matcher.host.empty() ? "node " + std::to_string(matcher.node) : matcher.host);
  if (process != 0) which += " (process " + std::to_string(process) + ")";
  const bool is_here = std::ranges::find(on_this_machine, process) != on_this_machine.end();
  const char state = is_here ? state_of(process) : '\0';
  if (state == 'T') return which + " is stopped (kill -CONT " + std::to_string(process) + " continues it)";
  if (state == 'D') return which + " waits for a disk";
  return which + " is busy, stuck or cut off";
}

/// Tells all in the log. An ensemble has many members that wait alike.
void tell(RunSetting& setting, const std::vector<std::string>& notices) {
  constexpr std::size_t most_shown = 5;
  for (std::size_t i = 0; i < notices.size(); ++i)
    i < most_shown ? setting.notice(notices[i]) : setting.log("sluice", notices[i]);
  if (notices.size() > most_shown)
    setting.console.notice("and " + std::to_string(notices.size() - most_shown) +
                           " more such notices: the event log has them");
}

}  // namespace

StatusWatch::StatusWatch(RunSetting& setting, MatcherProcess& matcher, const ComponentProcesses& components,
                         std::chrono::milliseconds notice_after)
    : setting_(setting),
      matcher_(matcher),
      components_(components),
      progress_(setting.workflow),
      wait_notices_(notice_after),
      unread_notices_(notice_after),
      next_progress_(first_progress) {}

milliseconds StatusWatch::since_start() const {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - started_);
}

void StatusWatch::ask(const std::function<void(const runtime::RunView&)>& receiver) {
  if (asked_at_ || matcher_.is_line_lost()) return;
  asked_at_ = std::chrono::steady_clock::now();
  matcher_.watch({.is_for_progress = true}, [this, receiver](const runtime::RunView& view) {
    answered();
    tell_silent(view);
    receiver(view);
  });
}

void StatusWatch::look_for_answer() {
  if (!asked_at_ || is_silence_told_) return;
  const auto silence = std::chrono::steady_clock::now() - *asked_at_;
  if (silence < longest_silence) return;
  is_silence_told_ = true;
  setting_.notice(describe_standstill(matcher_.processes()) + " and has not answered for " +
                  format_duration(std::chrono::duration_cast<milliseconds>(silence)) +
                  "; coupled calls of the components wait");
}

void StatusWatch::answered() {
  asked_at_.reset();
  if (std::exchange(is_silence_told_, false)) setting_.notice("the matcher answers again");
}

/// A matcher on this machine may be stopped; of others only their silence is known.
void StatusWatch::tell_silent(const runtime::RunView& view) {
  std::set<std::uint32_t> ranks;
  for (const auto& matcher : view.silent) {
    ranks.insert(matcher.rank);
    if (!told_silent_.insert(matcher.rank).second) continue;
    setting_.notice(describe_silent(matcher, matcher_.processes()) + " and has not answered for " +
                    format_duration(milliseconds(matcher.silence_ms)) +
                    "; coupled calls of the processes that it serves wait");
  }
  std::erase_if(told_silent_, [&](std::uint32_t rank) {
    if (ranks.contains(rank)) return false;
    setting_.notice("matcher " + std::to_string(rank) + " answers again");
    return true;
  });
}

void StatusWatch::show_progress(const runtime::RunView& view, const std::vector<ComponentStage>& stages) {
  tell(setting_, wait_notices_.due(view));
  const auto running = [this](const std::string& name) { return components_.is_running(name); };
  tell(setting_, unread_notices_.due(setting_.workflow, view, running));
  const ProgressReport report = progress_.report(view, stages, since_start());
  if (setting_.console.progress() == ProgressForm::json)
    return setting_.console.machine_line(progress_as_json(report));
  if (!setting_.console.has_status()) return show_line(progress_line(report));
  std::vector<StatusLine> lines;
  for (std::string& text : progress_table(report)) {
    const std::size_t row = lines.size();  // the first line is of the whole run
    const bool waits = row > 0 && report.rows[row - 1].state == ProgressRow::State::waiting;
    const bool has_failed = row > 0 && report.rows[row - 1].failed > 0;
    lines.push_back({std::move(text), has_failed ? Colour::red : waits ? Colour::yellow : Colour::none});
  }
  setting_.console.status(std::move(lines));
}

void StatusWatch::show_draining(const runtime::RunView& view) {
  const ProgressForm form = setting_.console.progress();
  const std::string text = describe_draining(view);
  if (form == ProgressForm::json) {
    setting_.console.machine_line(draining_as_json(view, since_start()));
  } else if (setting_.console.has_status()) {
    setting_.console.status({{text}});
  } else {
    show_line(text);
  }
}

/// A long run has few lines.
void StatusWatch::show_line(const std::string& text) {
  if (setting_.console.progress() == ProgressForm::none || since_start() < next_progress_) return;
  next_progress_ = since_start() + std::clamp(since_start() / 4, first_progress, longest_progress);
  setting_.console.notice(text);
}

void StatusWatch::tell_event(const runtime::EventNotice& event) {
  constexpr std::size_t most_shown = 20;  // a program that retries forever would fill the screen
  setting_.log("matcher", event.text);
  const bool is_new =
      !event.is_detail && events_shown_.size() <= most_shown && events_shown_.insert(event.text).second;
  if (!is_new) return setting_.console.detail(event.text);
  setting_.console.notice(events_shown_.size() > most_shown ? "more such events are in the log" : event.text);
}

}  // namespace sluice::coordinator
