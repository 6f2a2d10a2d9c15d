#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "matcher_process.hpp"
#include "run_setting.hpp"
#include "summary.hpp"
#include "timeline_writer.hpp"

namespace sluice::coordinator {

/// Asks the matchers again and again what the run does, and records the answers in the run's timeline.
class RunRecorder {
 public:
  /// The referenced objects outlive this one. Throws IoError.
  RunRecorder(RunSetting& setting, MatcherProcess& matcher, std::int64_t began);

  /// The components start now.
  void begin();
  void component_ended(const std::string& name, const std::string& how,
                       std::chrono::milliseconds processor_time);
  /// Asks what the run does, and prints the answer for the user.
  void print();
  /// All components have ended: asks for the last time.
  void ask_last();
  void warn(const std::string& text) { timeline_.warn(text); }
  /// What the last answer told.
  [[nodiscard]] const std::optional<LastFigures>& last() const noexcept { return last_; }
  void end(const std::string& verdict) { timeline_.end(since_start(), verdict); }

 private:
  void ask();
  void take(runtime::RunView view);
  void ask_later();
  void drop_known(runtime::RunView& view) const;
  [[nodiscard]] std::uint64_t since_start() const;

  RunSetting& setting_;
  MatcherProcess& matcher_;
  TimelineWriter timeline_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::uint64_t last_activity_ = 0;
  std::optional<LastFigures> last_;
  int questions_ = 0;  ///< whose answers have not come yet
};

}  // namespace sluice::coordinator
