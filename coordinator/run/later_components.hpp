#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "for_each_component.hpp"
#include "run_setting.hpp"
#include "sluice/runtime/protocol.hpp"
#include "summary.hpp"

namespace sluice::coordinator {

/// The components that do not start with the run: those with `for-each`, and those with `start: when-done`
/// until they start.
class LaterComponents : private ForEachComponent::Listener {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void job_changed(const runtime::JobNote& job) = 0;
    /// A job has failed for good.
    virtual void job_failed(const workflows::Component& component) = 0;
    /// The component has no other job.
    virtual void jobs_over(const workflows::Component& component, const ComponentOutcome& outcome) = 0;
    /// The writers of the component's files have ended: it starts.
    virtual void component_due(const workflows::Component& component) = 0;
    /// The component will not start, because the run ends.
    virtual void component_cancelled(const workflows::Component& component) = 0;
  };
  /// Both outlive this object.
  LaterComponents(RunSetting& setting, Listener& listener);

  /// The other components are being started. `done`: components that are not started.
  void begin(const std::set<std::string>& done);
  void file_published(const runtime::FilePublished& file);
  /// The component has ended, and all its files have been told.
  void component_settled(const std::string& name);
  /// The run ends: nothing is started any more.
  void stop();
  /// The components that wait for the end of their writers are not started any more.
  void cancel_awaited();
  void reap();
  void signal_all(int signal) const;
  /// Kills all jobs. Returns their launchers, which were asked to end.
  [[nodiscard]] std::set<pid_t> kill_all() const;

  [[nodiscard]] bool have_all_ended() const;
  /// Replaces what components with `for-each` do: their jobs.
  void report(std::vector<ComponentStage>& stages) const;
  /// Replaces the outcomes of components with `for-each`.
  void report(std::vector<ComponentOutcome>& outcomes) const;

 private:
  void job_begun(const ForEachComponent& component, const JobFile& file) override;
  void job_ended(const ForEachComponent& component, const JobFile& file, bool is_done) override;
  void job_failed(const ForEachComponent& component) override;
  void jobs_over(const ForEachComponent& component) override;

  RunSetting& setting_;
  Listener& listener_;
  std::vector<std::unique_ptr<ForEachComponent>> for_each_;
  /// Components that have not started, and the writers that have not ended.
  std::map<const workflows::Component*, std::set<std::string>> awaited_;
};

}  // namespace sluice::coordinator
