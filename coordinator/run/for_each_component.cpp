#include "for_each_component.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <utility>

#include "format.hpp"
#include "job_words.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::coordinator {
namespace {

/// A job that could not be started fails as a shell's command does.
constexpr ProcessEnd not_started{false, 127};

/// Failures that the terminal shows; the event log has all.
constexpr std::uint64_t most_shown = 5;

}  // namespace

ForEachComponent::ForEachComponent(RunSetting& setting, const workflows::Component& component,
                                   Listener& listener)
    : setting_(setting), component_(component), listener_(listener), queue_(*component.for_each) {}

void ForEachComponent::file_published(JobFile file) {
  skip(queue_.add(std::move(file)));
  if (is_stopped_) skip(queue_.take_all());
  start_next();
}

void ForEachComponent::no_more_files() {
  are_files_over_ = true;
  look_for_end();
}

void ForEachComponent::stop() {
  is_stopped_ = true;
  skip(queue_.take_all());
  look_for_end();
}

void ForEachComponent::skip(const std::vector<JobFile>& files) {
  for (const JobFile& file : files) {
    ++figures_.skipped;
    log("skipped " + short_name(file));
    listener_.job_ended(*this, file, !is_stopped_);
  }
}

bool ForEachComponent::has_free_place() const {
  return running_.size() < static_cast<std::size_t>(component_.for_each->at_most);
}

int ForEachComponent::free_place() const {
  int place = 0;
  while (std::ranges::find(running_, place, &Job::place) != running_.end()) ++place;
  return place;
}

void ForEachComponent::start_next() {
  std::set<std::string> busy;
  for (const Job& job : running_) busy.insert(job.file.path);
  while (!is_stopped_ && has_free_place()) {
    const std::optional<JobFile> file = queue_.next(busy);
    if (!file) return;
    busy.insert(file->path);
    ++figures_.begun;
    Job& job = running_.emplace_back();
    job.place = -1;
    job.place = free_place();
    job.file = *file;
    job.mark =
        (setting_.directory.path() / (component_.name + '.' + std::to_string(figures_.begun))).string();
    listener_.job_begun(*this, job.file);
    start(job);
  }
}

void ForEachComponent::start(Job& job) {
  ++job.starts;
  if (!first_start_) first_start_ = std::chrono::steady_clock::now();
  const LaunchPlan plan =
      plan_launch(setting_.workflow, component_for(component_, job.file), setting_.launch);
  ChildOptions child = child_of(plan);
  part_jobs(child.environment, setting_.directory, component_.name + "." + std::to_string(job.place));
  child.environment["SLUICE_JOB"] = job.mark;
  log("started for " + short_name(job.file) + ": " + as_shell_command(child.arguments));
  // later: the process is in use while it tells its end
  const auto tell_end = [this, &job] { boost::asio::post(setting_.loop, [this, &job] { ended(job); }); };
  try {
    job.process = std::make_unique<SupervisedProcess>(
        setting_.loop, setting_.console, component_.name + " " + short_name(job.file), std::move(child),
        SupervisedProcess::Launching{plan.by_launcher, setting_.end_timeout},
        SupervisedProcess::Callbacks{[] {}, tell_end,
                                     [this, &job](bool is_last_time) { return goes_on(job, is_last_time); }});
  } catch (const IoError& error) {
    const std::string problem = error.what();
    boost::asio::post(setting_.loop, [this, &job, problem] { failed(job, problem, not_started); });
  }
}

/// As for other components: ComponentProcesses::goes_on.
bool ForEachComponent::goes_on(const Job& job, bool is_last_time) const {
  const std::string mark = "SLUICE_JOB=" + job.mark;
  const bool is_short = job.process->age() < std::chrono::seconds(1);
  const std::vector<pid_t> rest = is_short
                                      ? runtime::younger_processes_with_environment(job.process->id(), mark)
                                      : runtime::processes_with_environment(mark);
  if (rest.empty()) return false;
  if (is_last_time) setting_.notice(text_of_rest(component_.name + " " + short_name(job.file), rest));
  return true;
}

void ForEachComponent::ended(Job& job) {
  const ProcessEnd end = *job.process->end();
  const std::string how = end.describe() + " after " + format_duration(job.process->duration());
  if (end.failed()) return failed(job, how, end);
  ++figures_.succeeded;
  log("finished for " + short_name(job.file) + " after " + format_duration(job.process->duration()));
  remove(job, true);
}

void ForEachComponent::failed(Job& job, const std::string& how, ProcessEnd end) {
  const bool is_again = !is_stopped_ && job.starts <= component_.for_each->retries;
  const std::string retry =
      "; retry " + std::to_string(job.starts) + " of " + std::to_string(component_.for_each->retries);
  log("failed for " + short_name(job.file) + ": " + how + (is_again ? retry : ""));
  if (is_again) {
    ++figures_.retried;
    return start(job);
  }
  ++figures_.failed;
  if (!first_failure_) first_failure_ = end;
  if (is_stopped_) {
    setting_.console.detail(component_.name + " " + short_name(job.file) + " " + how);
  } else if (figures_.failed <= most_shown) {
    setting_.console.error(component_.name + " " + short_name(job.file) + " " + how +
                           (figures_.failed == most_shown ? "; the event log names further failures" : ""));
  }
  listener_.job_failed(*this);
  remove(job, false);
}

void ForEachComponent::remove(const Job& job, bool is_done) {
  last_end_ = std::chrono::steady_clock::now();
  const JobFile file = job.file;
  running_.remove_if([&](const Job& other) { return &other == &job; });
  listener_.job_ended(*this, file, is_done);
  start_next();
  look_for_end();
}

void ForEachComponent::look_for_end() {
  const bool is_over = running_.empty() && queue_.empty() && (are_files_over_ || is_stopped_);
  if (!is_over || has_told_end_) return;
  has_told_end_ = true;
  listener_.jobs_over(*this);
}

void ForEachComponent::reap() {
  for (Job& job : running_)
    if (job.process) job.process->reap();
}

void ForEachComponent::signal_all(int signal) const {
  for (const Job& job : running_) {
    if (!job.process || job.process->has_ended()) continue;
    job.process->signal_group(signal);
    job.process->signal_group(SIGCONT);
  }
}

void ForEachComponent::kill(std::set<pid_t>& launchers) const {
  for (const Job& job : running_) {
    if (!job.process || job.process->has_ended()) continue;
    job.process->signal_group(job.process->is_launcher() ? SIGTERM : SIGKILL);
    if (job.process->is_launcher()) launchers.insert(job.process->id());
  }
}

ComponentOutcome ForEachComponent::outcome() const {
  ComponentOutcome outcome;
  outcome.name = component_.name;
  outcome.ranks = component_.ranks;
  outcome.jobs = figures_;
  if (!first_start_) return outcome;
  outcome.end = first_failure_.value_or(ProcessEnd{});
  outcome.duration = std::chrono::duration_cast<std::chrono::milliseconds>(last_end_ - *first_start_);
  return outcome;
}

ComponentStage ForEachComponent::stage() const {
  ComponentStage stage{has_told_end_ ? ComponentStage::Kind::ended : ComponentStage::Kind::running,
                       figures_.failed > 0,
                       "ended after " + figures_.describe(),
                       {}};
  stage.jobs = JobStage{figures_.succeeded + figures_.failed + figures_.skipped, figures_.failed,
                        running_.size(), queue_.size(), are_files_over_};
  return stage;
}

void ForEachComponent::log(const std::string& text) {
  setting_.log(component_.name, text);
}

}  // namespace sluice::coordinator
