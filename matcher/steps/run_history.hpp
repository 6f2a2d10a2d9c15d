#pragma once
#include <cstdint>
#include <deque>
#include <functional>

#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/run_view.hpp"
#include "sluice/matcher/status_report.hpp"

namespace sluice::matcher {

/// The last activities of a run. Old ones are dropped: who wants all of them asks often enough.
class RunHistory {
 public:
  explicit RunHistory(const std::function<std::uint64_t()>& now_ms) : now_ms_(now_ms), began_ms_(now_ms()) {}

  /// Whether the process has activities. Of a component with very many ranks, the first ones stand for all.
  [[nodiscard]] static bool shows(const Process& process) noexcept;
  /// Adds an activity of the process that ends now. Programs that only look at the run have none.
  void add(Activity::Kind kind, const Process& process, std::uint32_t rule, const std::string& file,
           std::uint64_t begin_ms, std::uint64_t bytes = 0);
  /// The puts or gets of one process.
  struct Calls {
    Activity::Kind kind;
    std::uint32_t rule;
    const std::string& file;
    std::uint64_t bytes;
  };
  /// Adds an activity of calls up to the close of their file, which is now. Calls that took less than a
  /// millisecond in all are left out: nobody would see them.
  void add_calls(const Calls& calls, const Process& process, const CallSpan& span);
  void add_drain(std::uint32_t rule, const std::string& file, std::uint64_t begin_ms, std::uint64_t bytes);
  /// Sets the time and, if they are wanted, the activities.
  void report(const WatchRequest& request, RunView& view) const;
  [[nodiscard]] std::uint64_t now_ms() const { return now_ms_(); }

 private:
  void keep(Activity activity);

  const std::function<std::uint64_t()>& now_ms_;
  std::uint64_t began_ms_;
  std::deque<Activity> kept_;
  std::uint64_t last_ = 0;  ///< the number of the last activity; the first one has 1
};

}  // namespace sluice::matcher
