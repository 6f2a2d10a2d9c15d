#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "run_record.hpp"
#include "sluice/runtime/observer.hpp"
#include "step_file.hpp"
#include "timeline.hpp"
#include "web_server.hpp"

namespace sluice::coordinator {

/// What the page shows of a run. It connects to the run when it is first asked, as a program that is
/// attached: nothing waits for it. Of a run that has ended, it shows what its log directory says.
class LiveRun {
 public:
  explicit LiveRun(RunRecord run) : run_(std::move(run)) {}

  /// The state of the run, its newest files, and the end of its event log as JSON.
  [[nodiscard]] std::string news();
  /// "file" and "field": of the file `path`, or of the newest one of the rule with the number `rule`;
  /// "report": the page of `sluice report`.
  [[nodiscard]] WebAnswer answer(const WebRequest& request);

 private:
  [[nodiscard]] runtime::Observer& observer();
  [[nodiscard]] const std::vector<runtime::PublishedFile>& files();
  [[nodiscard]] const runtime::PublishedFile& find(const WebRequest& request);
  [[nodiscard]] StepFile open(const runtime::PublishedFile& file);
  [[nodiscard]] std::string state();
  [[nodiscard]] std::string end();
  [[nodiscard]] std::string report() const;
  [[nodiscard]] bool has_ended();
  void read_record();

  RunRecord run_;
  std::optional<runtime::Observer> observer_;
  std::optional<runtime::RunView> earlier_;
  std::vector<runtime::PublishedFile> files_;  ///< the newest first
  std::chrono::steady_clock::time_point files_time_;
  std::string status_ = "null";     ///< the last one
  std::optional<Timeline> record_;  ///< the run has ended
  std::filesystem::file_time_type record_time_;
};

}  // namespace sluice::coordinator
