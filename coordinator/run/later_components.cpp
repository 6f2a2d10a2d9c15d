#include "later_components.hpp"

#include <algorithm>
#include <utility>

namespace sluice::coordinator {

LaterComponents::LaterComponents(RunSetting& setting, Listener& listener)
    : setting_(setting), listener_(listener) {}

void LaterComponents::begin(const std::set<std::string>& done) {
  ForEachComponent::Listener& of_jobs = *this;
  for (const workflows::Component& component : setting_.workflow.components) {
    if (done.contains(component.name)) continue;
    if (component.for_each)
      for_each_.push_back(std::make_unique<ForEachComponent>(setting_, component, of_jobs));
    if (component.starts_when_done)
      awaited_[&component] = workflows::writers_for(setting_.workflow, component.name);
  }
}

void LaterComponents::file_published(const runtime::FilePublished& file) {
  for (const auto& jobs : for_each_)
    if (jobs->component().name == file.component) jobs->file_published({file.step, file.path, file.number});
}

void LaterComponents::component_settled(const std::string& name) {
  for (const auto& jobs : for_each_) {
    if (setting_.workflow.files[jobs->component().for_each->rule].writer == name) jobs->no_more_files();
  }
  std::vector<const workflows::Component*> due;
  for (auto& [component, writers] : awaited_)
    if (writers.erase(name) > 0 && writers.empty()) due.push_back(component);
  for (const workflows::Component* component : due) {
    awaited_.erase(component);
    listener_.component_due(*component);
  }
}

void LaterComponents::stop() {
  for (const auto& jobs : for_each_) jobs->stop();
  cancel_awaited();
}

void LaterComponents::cancel_awaited() {
  for (const auto& [component, writers] : std::exchange(awaited_, {}))
    listener_.component_cancelled(*component);
}

void LaterComponents::reap() {
  for (const auto& jobs : for_each_) jobs->reap();
}

void LaterComponents::signal_all(int signal) const {
  for (const auto& jobs : for_each_) jobs->signal_all(signal);
}

std::set<pid_t> LaterComponents::kill_all() const {
  std::set<pid_t> launchers;
  for (const auto& jobs : for_each_) jobs->kill(launchers);
  return launchers;
}

bool LaterComponents::have_all_ended() const {
  return awaited_.empty() &&
         std::ranges::all_of(for_each_, [](const auto& jobs) { return jobs->has_ended(); });
}

void LaterComponents::report(std::vector<ComponentOutcome>& outcomes) const {
  for (const auto& jobs : for_each_) {
    const auto found = std::ranges::find(outcomes, jobs->component().name, &ComponentOutcome::name);
    if (found != outcomes.end()) *found = jobs->outcome();
  }
}

void LaterComponents::report(std::vector<ComponentStage>& stages) const {
  const auto& components = setting_.workflow.components;
  for (const auto& jobs : for_each_) {
    const auto index = static_cast<std::size_t>(&jobs->component() - components.data());
    if (index < stages.size()) stages[index] = jobs->stage();
  }
}

void LaterComponents::job_begun(const ForEachComponent& component, const JobFile& file) {
  listener_.job_changed({component.component().name, file.step});
}

void LaterComponents::job_ended(const ForEachComponent& component, const JobFile& file, bool is_done) {
  using State = runtime::JobNote::State;
  listener_.job_changed({component.component().name, file.step, is_done ? State::done : State::ended});
}

void LaterComponents::job_failed(const ForEachComponent& component) {
  listener_.job_failed(component.component());
}

void LaterComponents::jobs_over(const ForEachComponent& component) {
  listener_.jobs_over(component.component(), component.outcome());
}

}  // namespace sluice::coordinator
