#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "component_processes.hpp"
#include "matcher_process.hpp"
#include "progress.hpp"
#include "run_progress.hpp"
#include "run_setting.hpp"

namespace sluice::coordinator {

/// Asks the matcher for the run's status, and reports it to the user: progress, long waits, files that nobody
/// reads, events, and a matcher that does not answer.
class StatusWatch {
 public:
  /// `notice_after`: a wait that lasts this long is reported. The referenced objects outlive this one.
  StatusWatch(RunSetting& setting, MatcherProcess& matcher, const ComponentProcesses& components,
              std::chrono::milliseconds notice_after);

  /// Asks the matcher what the run does, unless an answer is still awaited. Reports the other matchers that
  /// do not answer matcher 0, and those that answer again.
  void ask(const std::function<void(const runtime::RunView&)>& receiver);
  /// Reports when the answer has been missing for long. A working matcher answers at once; a matcher that
  /// does not answer delays every process that sends it a request.
  void look_for_answer();
  /// Shows the progress of a run whose components are running. `stages`: by component.
  void show_progress(const runtime::RunView& view, const std::vector<ComponentStage>& stages);
  /// Shows the progress of drains. Requires that a drain is active.
  void show_draining(const runtime::RunView& view);
  void tell_event(const runtime::EventNotice& event);

  [[nodiscard]] std::chrono::milliseconds since_start() const;

 private:
  void answered();
  void tell_silent(const runtime::RunView& view);
  void show_line(const std::string& text);

  RunSetting& setting_;
  MatcherProcess& matcher_;
  const ComponentProcesses& components_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  RunProgress progress_;
  WaitNotices wait_notices_;
  UnreadNotices unread_notices_;
  std::chrono::milliseconds next_progress_;
  std::optional<std::chrono::steady_clock::time_point> asked_at_;  ///< time of the unanswered request
  bool is_silence_told_ = false;         ///< the user knows that the matcher has not answered for long
  std::set<std::uint32_t> told_silent_;  ///< ranks of matchers whose silence the user knows
  std::set<std::string> events_shown_;
};

}  // namespace sluice::coordinator
