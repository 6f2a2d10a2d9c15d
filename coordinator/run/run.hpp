#pragma once
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>

#include "component_processes.hpp"
#include "exposer_process.hpp"
#include "later_components.hpp"
#include "matcher_process.hpp"
#include "readiness.hpp"
#include "restoration.hpp"
#include "run_journal.hpp"
#include "run_recorder.hpp"
#include "run_setting.hpp"
#include "stage_limit.hpp"
#include "status_watch.hpp"
#include "summary.hpp"

namespace sluice::coordinator {

/// The user's options for a run.
struct RunOptions {
  std::filesystem::path log_directory;  ///< empty: ".sluice/NAME-DATE-PID" beside the workflow file
  Console::Options console;
  std::chrono::seconds notice_after{30};   ///< a wait that lasts this long is reported
  std::chrono::seconds ready_timeout{30};  ///< time limit until the matchers are ready; 0: no limit
  std::chrono::seconds end_timeout{20};  ///< time limit until the matchers end, or tell of progress; 0: none
  std::optional<Restoration> restoration;  ///< of the run that this one goes on with
  bool resumes_without_logs = false;       ///< restore()
  std::chrono::seconds stop_before{0};     ///< how long ahead of the time limit the run is stopped
  /// the time until the limit, from the start of this process; nothing: no limit is known
  std::optional<std::chrono::seconds> time_limit;
  bool is_in_batch_job = false;  ///< SIGTERM announces the end of the job
};

/// One run of a workflow, from the first process to the summary: its stages, and events that end it early.
/// One event loop, no threads. One small function serves each event; what has a state of its own is a class
/// of its own.
class Run final : private MatcherProcess::Listener,
                  private ComponentProcesses::Listener,
                  private LaterComponents::Listener {
 public:
  /// Creates the directories and the log. Throws IoError.
  Run(const workflows::Workflow& workflow, const Installation& installation, const RunOptions& options,
      const JobNodes& nodes);

  /// Executes the whole run; returns the exit status of `sluice run`.
  [[nodiscard]] int execute();

 private:
  enum class Stage { starting, running, draining, shutting_down, finished };

  // the stages, in order
  void start_matcher();
  void start_components();
  void let_others_find_run();
  void tell_where_data_spills();
  void exposer_ended();
  void check_whether_all_ended();
  void begin_draining();
  void begin_shutdown();
  void finish();
  void conclude();

  // events that may interrupt the stages
  void await_signals();
  void await_time_limit();
  void interrupted(int signal);
  /// Stops the components in order, in that time altogether.
  void stop_for(const std::string& reason, std::chrono::milliseconds time);
  void stop_others(std::chrono::milliseconds time);
  [[nodiscard]] bool is_by_itself() const;
  void tell_restoration();
  [[nodiscard]] bool runs_on() const;
  [[nodiscard]] bool starts_again(const ComponentProcesses::Member& member) const;
  void tell_end_of_ensemble(const workflows::Component& member);
  void stop_after_failure_of(const std::string& component);
  void cancel_starts();
  void print_status();
  void note_stopped();
  void ask_to_stop();
  void check_later();
  void kill_everything();
  void await_launcher();
  void failed(const std::string& what);
  void tick();
  void ask_for_progress();
  void show_draining(const runtime::RunView& view);

  void matcher_ready() override { start_components(); }
  void matcher_reported(const runtime::StatusReport& report) override { outcome_.report = report; }
  void component_may_start(const std::string& name) override { components_.may_start(name); }
  void matcher_told(const runtime::EventNotice& event) override;
  void matcher_line_lost(const std::string& reason) override;
  void matcher_exited() override;
  void component_not_started(const ComponentProcesses::Member& member) override;
  void component_exited(const ComponentProcesses::Member& member) override;
  void component_ended(const ComponentProcesses::Member& member) override;
  void file_published(const runtime::FilePublished& file) override { later_.file_published(file); }
  void component_settled(const std::string& name) override { later_.component_settled(name); }
  void job_changed(const runtime::JobNote& job) override { matcher_.tell_job(job); }
  void job_failed(const workflows::Component& component) override;
  void jobs_over(const workflows::Component& component, const ComponentOutcome& outcome) override;
  void component_due(const workflows::Component& component) override;
  void component_cancelled(const workflows::Component& component) override;

  RunOptions options_;
  std::time_t began_ = std::time(nullptr);
  RunSetting setting_;
  RunJournal journal_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer tick_timer_;
  boost::asio::steady_timer drain_timer_;
  boost::asio::steady_timer limit_timer_;  ///< until the run is stopped ahead of its time limit
  StageLimit stage_limit_;                 ///< of the stage: ready, stop, shutdown
  MatcherProcess matcher_;
  ComponentProcesses components_;
  LaterComponents later_;
  ExposerProcess exposer_;
  StatusWatch watch_;
  RunRecorder recorder_;
  Stage stage_ = Stage::starting;
  std::string start_failure_;  ///< the matcher's reason why it could not start
  int interruptions_ = 0;
  bool has_matcher_exited_ = false;
  bool is_launcher_overdue_ = false;
  RunOutcome outcome_;
};

}  // namespace sluice::coordinator
