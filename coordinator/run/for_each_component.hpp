#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "job_queue.hpp"
#include "run_progress.hpp"
#include "run_setting.hpp"
#include "summary.hpp"
#include "supervised_process.hpp"

namespace sluice::coordinator {

/// A component that is started once for each published file: its jobs, from the first to the last.
/// docs/design/components.md.
class ForEachComponent {
 public:
  /// Receives what happens to the jobs.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void job_begun(const ForEachComponent& component, const JobFile& file) = 0;
    /// For good, or the file was skipped. `is_done`: the component needs the file no longer, also when the
    /// run is resumed.
    virtual void job_ended(const ForEachComponent& component, const JobFile& file, bool is_done) = 0;
    /// A job has failed for good. Called before job_ended().
    virtual void job_failed(const ForEachComponent& component) = 0;
    /// The last job has ended, and no other follows. Called once.
    virtual void jobs_over(const ForEachComponent& component) = 0;
  };
  /// The referenced objects outlive this one. `component.for_each` is set.
  ForEachComponent(RunSetting& setting, const workflows::Component& component, Listener& listener);

  [[nodiscard]] const workflows::Component& component() const noexcept { return component_; }
  void file_published(JobFile file);
  /// The writer of the files has ended: no file follows.
  void no_more_files();
  /// Starts no other job; the files that wait are skipped.
  void stop();
  void reap();
  /// Signals all jobs that run; stopped processes continue.
  void signal_all(int signal) const;
  /// Kills all jobs. A launcher is asked to end, because it must remove its files; its process id is added
  /// to `launchers`.
  void kill(std::set<pid_t>& launchers) const;

  [[nodiscard]] bool has_ended() const noexcept { return has_told_end_; }
  [[nodiscard]] ComponentOutcome outcome() const;
  [[nodiscard]] ComponentStage stage() const;

 private:
  struct Job {
    JobFile file;
    int place = 0;  ///< from 0 to at-most - 1: jobs that run at once have different places
    int starts = 0;
    std::string mark;  ///< value of SLUICE_JOB in the environment of its processes
    std::unique_ptr<SupervisedProcess> process;
  };

  void start_next();
  void start(Job& job);
  [[nodiscard]] bool goes_on(const Job& job, bool is_last_time) const;
  void ended(Job& job);
  void failed(Job& job, const std::string& how, ProcessEnd end);
  void remove(const Job& job, bool is_done);
  void skip(const std::vector<JobFile>& files);
  void look_for_end();
  [[nodiscard]] bool has_free_place() const;
  [[nodiscard]] int free_place() const;
  void log(const std::string& text);

  RunSetting& setting_;
  const workflows::Component& component_;
  Listener& listener_;
  JobQueue queue_;
  std::list<Job> running_;  ///< a list: callbacks of processes refer to their jobs
  bool are_files_over_ = false;
  bool is_stopped_ = false;
  bool has_told_end_ = false;
  JobFigures figures_;
  std::optional<ProcessEnd> first_failure_;
  std::optional<std::chrono::steady_clock::time_point> first_start_;
  std::chrono::steady_clock::time_point last_end_;
};

}  // namespace sluice::coordinator
