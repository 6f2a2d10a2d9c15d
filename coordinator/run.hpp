#pragma once
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "console.hpp"
#include "event_log.hpp"
#include "guardian.hpp"
#include "installation.hpp"
#include "launch.hpp"
#include "matcher_launch.hpp"
#include "matcher_line.hpp"
#include "progress.hpp"
#include "readiness.hpp"
#include "run_directory.hpp"
#include "spill_choice.hpp"
#include "summary.hpp"
#include "supervised_process.hpp"

namespace sluice::coordinator {

/// What the user may choose for a run.
struct RunOptions {
  std::filesystem::path log_directory;  ///< empty: ".sluice/NAME-DATE-PID" beside the workflow file
  Console::Options console;
  std::chrono::seconds notice_after{30};   ///< a wait that lasts so long is told
  std::chrono::seconds ready_timeout{30};  ///< for the matchers to be ready; 0: no limit
  std::chrono::seconds end_timeout{20};    ///< for the matchers to end; 0: no limit
};

/// One run of a workflow, from the first process to the summary. One event loop, no threads.
class Run {
 public:
  /// Creates the directories and the log. Throws IoError.
  Run(const workflows::Workflow& workflow, const Installation& installation, const RunOptions& options,
      const JobNodes& nodes, Inspections inspections);

  /// Runs it all; returns the exit status of `sluice run`.
  [[nodiscard]] int execute();

 private:
  /// A component and its process (none when it could not be started).
  struct Member {
    const workflows::Component* component = nullptr;
    std::unique_ptr<SupervisedProcess> process;
    std::string problem;
    [[nodiscard]] bool has_ended() const { return process == nullptr || process->has_ended(); }
  };

  // the stages, in order
  void start_matcher();
  [[nodiscard]] ChildOptions matcher_alone();
  [[nodiscard]] ChildOptions matcher_job();
  void await_matcher();
  void take_matcher_line(runtime::PacketSocket socket);
  void kill_matchers();
  void await_launcher();
  void start_components();
  void tell_where_data_spills();
  void start_component(Member& member);
  void component_exited(const Member& member);
  void component_ended(Member& member);
  void check_whether_all_ended();
  void begin_draining();
  void begin_shutdown();
  void finish();
  void limit_stage(std::chrono::seconds limit, const std::string& what, const std::string& option);
  void tell_slow_stage(const std::string& what, std::chrono::seconds limit, const std::string& option);

  // what may come in between
  void await_signals();
  void interrupted(int signal);
  void ask_to_stop();
  void stop_components(int signal);
  void kill_everything();
  void kill_launchers();
  void matcher_told(const runtime::EventNotice& event);
  void matcher_lost(const std::string& reason);
  void matcher_exited();
  void runtime_failed(const std::string& what);
  void tick();
  void ask_for_status();
  void look_for_answer();
  void received(const runtime::StatusReport& report);
  void show_progress(const runtime::StatusReport& report);
  void show_draining(const runtime::StatusReport& report);
  void show(const std::string& progress);
  void log(std::string_view source, std::string_view text);
  [[nodiscard]] std::chrono::milliseconds since_start() const;
  void collect_outcome();

  static constexpr std::chrono::seconds progress_interval{10};  ///< where there is no terminal

  enum class Stage { starting, running, draining, shutting_down, finished };

  const workflows::Workflow& workflow_;
  const Installation& installation_;
  RunOptions options_;
  Inspections inspections_;  ///< of the components' programs
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::time_t began_ = std::time(nullptr);
  Console console_;
  std::filesystem::path log_directory_;
  EventLog log_;
  std::string start_failure_;  ///< what the matcher said of why it could not start
  RunDirectory directory_;
  Guardian guardian_;
  LaunchContext launch_context_;
  JobNodes nodes_;
  MatcherJobSize matchers_;
  SpillChoice spill_;

  boost::asio::io_context context_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer tick_timer_;
  boost::asio::steady_timer drain_timer_;
  boost::asio::steady_timer deadline_;    ///< of the stage: ready, stop, shutdown
  boost::asio::steady_timer slow_timer_;  ///< until a stage that takes long is told of
  std::unique_ptr<SupervisedProcess> matcher_;
  std::unique_ptr<MatcherLine> line_;
  std::optional<runtime::PacketSocket> inherited_line_;  ///< the other end, until the matcher has it
  runtime::FileDescriptor matcher_listener_;             ///< of a job, until its matcher 0 has connected
  boost::asio::posix::stream_descriptor matcher_listener_watch_;
  std::vector<Member> members_;
  WaitNotices wait_notices_;
  UnreadNotices unread_notices_;
  bool has_room_for_terminals_;
  std::chrono::milliseconds next_progress_;
  bool status_asked_ = false;
  std::chrono::steady_clock::time_point status_asked_at_;
  bool is_silence_told_ = false;  ///< the matcher has not answered for long, and the user knows
  int interruptions_ = 0;
  bool has_matcher_exited_ = false;
  bool is_launcher_overdue_ = false;
  std::set<std::string> events_shown_;

  Stage stage_ = Stage::starting;
  RunOutcome outcome_;
};

}  // namespace sluice::coordinator
