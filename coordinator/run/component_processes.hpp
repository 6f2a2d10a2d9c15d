#pragma once
#include <sys/types.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "restart_wait.hpp"
#include "run_progress.hpp"
#include "run_setting.hpp"
#include "summary.hpp"
#include "supervised_process.hpp"

namespace sluice::coordinator {

/// The processes of a run's components.
class ComponentProcesses {
 public:
  /// A component and its process; the process is null if it could not be started.
  struct Member {
    const workflows::Component* component = nullptr;
    std::unique_ptr<SupervisedProcess> process;
    std::string problem;
    bool had_ended = false;  ///< before the run was resumed: it is not started
    int starts = 0;
    std::chrono::milliseconds earlier{0};  ///< duration of its earlier starts
    std::unique_ptr<RestartWait> restart;  ///< set between a failure and the next start
    bool is_held_back = false;             ///< until another member of its ensemble has ended (at-most)
    [[nodiscard]] bool has_process() const { return process != nullptr && !process->has_ended(); }
    /// For good.
    [[nodiscard]] bool has_ended() const { return restart == nullptr && !is_held_back && !has_process(); }
    /// Its process has failed, and its workflow allows another start.
    [[nodiscard]] bool may_restart() const;
    /// A stopped process continues.
    void signal(int signal) const;
  };
  /// Receives the ends of components.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void component_not_started(const Member& member) = 0;
    /// The exit status of the component's process has been collected.
    virtual void component_exited(const Member& member) = 0;
    /// The last line of the component's output has arrived.
    virtual void component_ended(const Member& member) = 0;
  };
  /// `setting` and `listener` outlive this object.
  ComponentProcesses(RunSetting& setting, Listener& listener);

  /// Starts all components that start with the run, but for those that are done.
  void start_all(const std::set<std::string>& done);
  /// Starts the members of ensembles that may start now.
  void start_held_back();
  /// Starts a component again whose process has ended: after its delay, and when the matcher has agreed.
  void restart(const std::string& name);
  /// The matcher agrees.
  void may_start(const std::string& name);
  /// Nothing is started any more. Returns the names of the components that would have been.
  std::vector<std::string> cancel_starts();
  /// Kills the processes that are left of a component: ranks without their launcher, children of a script.
  void kill_rest(const Member& member) const;
  /// Starts one that starts later.
  void start_due(const workflows::Component& component);
  void reap();
  /// Signals all components that have not ended; stopped processes continue.
  void signal_all(int signal) const;
  /// The same for some components.
  void signal(const std::set<std::string>& components, int signal) const;
  /// Kills all components. Only the ranks of a launcher are killed: the launcher itself is asked to end,
  /// because it must remove its files. `launchers`: of jobs, which were asked. Returns whether there are
  /// launchers.
  bool kill_all(std::set<pid_t> launchers) const;
  /// Kills all components that have not ended, including launchers.
  void kill_launchers() const;

  [[nodiscard]] bool have_all_ended() const;
  [[nodiscard]] std::size_t ended_members_of(const std::string& ensemble) const;
  [[nodiscard]] bool is_running(const std::string& name) const;
  [[nodiscard]] std::size_t count() const noexcept { return members_.size(); }
  /// What each component of the workflow does, in their order.
  [[nodiscard]] std::vector<ComponentStage> stages() const;
  /// The outcome of each component of the workflow.
  [[nodiscard]] std::vector<ComponentOutcome> outcomes() const;

 private:
  void start(Member& member);
  [[nodiscard]] std::vector<pid_t> rest_of(const Member& member) const;
  [[nodiscard]] bool goes_on(const Member& member, bool is_last_time) const;
  [[nodiscard]] Member& member_named(const std::string& name);

  RunSetting& setting_;
  Listener& listener_;
  bool can_have_terminals_;
  std::vector<Member> members_;
};

}  // namespace sluice::coordinator
