#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/runtime/protocol.hpp"
#include "sluice/workflows/workflow.hpp"
#include "wait_sentences.hpp"

namespace sluice::coordinator {

/// "draining wave_0003.nc: 412 of 1024 MiB; 3 more files wait". Requires that a drain is active.
[[nodiscard]] std::string describe_draining(const runtime::RunView& view);

/// Decides which waits to report. A wait is first reported after `after`, then each time its duration has
/// doubled.
class WaitNotices {
 public:
  explicit WaitNotices(std::chrono::milliseconds after) : after_(after) {}
  /// The waits of a new view that are due now.
  [[nodiscard]] std::vector<std::string> due(const runtime::RunView& view);

 private:
  /// The text of a wait, and the key that identifies the wait.
  struct Wait {
    std::string key;
    std::string text;
    std::chrono::milliseconds lasted;
    std::chrono::milliseconds first;  ///< after which it is told
  };
  struct Notice {
    std::chrono::milliseconds next;   ///< the wait is told when it has lasted so long
    std::chrono::milliseconds first;  ///< Wait::first, when it was looked at
  };
  [[nodiscard]] std::vector<Wait> waits_of(const runtime::RunView& view) const;

  std::chrono::milliseconds after_;
  std::map<std::string, Notice> notices_;  ///< by Wait::key
};

/// Decides when to report readers that open no file although files are ready for them: first after `after`,
/// then each time the duration has doubled.
class UnreadNotices {
 public:
  explicit UnreadNotices(std::chrono::milliseconds after) : after_(after) {}
  /// `running`: whether a component is still running.
  [[nodiscard]] std::vector<std::string> due(const workflows::Workflow& workflow,
                                             const runtime::RunView& view,
                                             const std::function<bool(const std::string&)>& running);

 private:
  std::chrono::milliseconds after_;
  std::map<std::pair<std::size_t, std::string>, std::chrono::milliseconds> next_;  ///< by rule and reader
};

}  // namespace sluice::coordinator
