#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "run_record.hpp"
#include "sluice/runtime/observer.hpp"
#include "step_file.hpp"
#include "web_server.hpp"

namespace sluice::coordinator {

/// What the page shows of a run. It connects to the run when it is first asked, as a program that is
/// attached: nothing waits for it.
class LiveRun {
 public:
  explicit LiveRun(RunRecord run) : run_(std::move(run)) {}

  /// The state of the run, its newest files, and the end of its event log as JSON; or that it has ended.
  [[nodiscard]] std::string news();
  /// "file" and "field": of the file `path`, or of the newest one of the rule with the number `rule`.
  [[nodiscard]] WebAnswer answer(const WebRequest& request);

 private:
  [[nodiscard]] runtime::Observer& observer();
  [[nodiscard]] const std::vector<runtime::PublishedFile>& files();
  [[nodiscard]] const runtime::PublishedFile& find(const WebRequest& request);
  [[nodiscard]] StepFile open(const runtime::PublishedFile& file);
  [[nodiscard]] std::string state();
  [[nodiscard]] std::string end() const;

  RunRecord run_;
  std::optional<runtime::Observer> observer_;
  std::optional<runtime::RunView> earlier_;
  std::vector<runtime::PublishedFile> files_;  ///< the newest first
  std::chrono::steady_clock::time_point files_time_;
  std::string status_ = "null";  ///< the last one
};

}  // namespace sluice::coordinator
