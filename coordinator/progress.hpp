#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/runtime/protocol.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// One line on how far a run is: "00:12  34 files, 34 steps, 1.20 GiB put, 1.10 GiB got; analysis waits for
/// wave_0035.nc from model (2 s)".
[[nodiscard]] std::string describe_progress(std::chrono::milliseconds since_start,
                                            const runtime::StatusReport& report);

/// "draining wave_0003.nc: 412 of 1024 MiB; 3 more files wait". There is a drain.
[[nodiscard]] std::string describe_draining(const runtime::StatusReport& report);

/// "analysis (2 processes) waits for wave_0003.nc from model since 30 s".
[[nodiscard]] std::string describe_wait(const runtime::WaitStatus& wait);

/// Decides when a wait has lasted long enough to be told: first after `after`, then each time it has lasted
/// twice as long.
class WaitNotices {
 public:
  explicit WaitNotices(std::chrono::milliseconds after) : after_(after) {}
  /// The waits of a new report that are to be told now.
  [[nodiscard]] std::vector<std::string> due(const runtime::StatusReport& report);

 private:
  std::chrono::milliseconds after_;
  std::map<std::string, std::chrono::milliseconds> next_;  ///< by component and what it waits for
};

/// Readers that open nothing although files are there for them: a notice when that has lasted `after`, then
/// each time it has lasted twice as long.
class UnreadNotices {
 public:
  explicit UnreadNotices(std::chrono::milliseconds after) : after_(after) {}
  /// `running`: whether a component has not ended.
  [[nodiscard]] std::vector<std::string> due(const workflows::Workflow& workflow,
                                             const runtime::StatusReport& report,
                                             const std::function<bool(const std::string&)>& running);

 private:
  std::chrono::milliseconds after_;
  std::map<std::pair<std::size_t, std::string>, std::chrono::milliseconds> next_;  ///< by rule and reader
};

}  // namespace sluice::coordinator
