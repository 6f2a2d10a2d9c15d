#include "run.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>

#include "coupling_warnings.hpp"
#include "exposer.hpp"
#include "format.hpp"
#include "run_record.hpp"
#include "sluice/runtime/guard_process.hpp"
#include "sluice/runtime/run_processes.hpp"
#include "sluice/storage/step_record.hpp"
#include "stop_order.hpp"
#include "workflow_messages.hpp"

namespace sluice::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds time_to_stop{5};         ///< from SIGTERM to SIGKILL
constexpr seconds time_to_notice{10};      ///< that the matcher has ended
constexpr seconds time_to_clean_up{2};     ///< for a launcher whose ranks were killed
constexpr seconds usual_time_to_stop{60};  ///< all components, in order
constexpr seconds time_from_term_to_kill{
    24};  ///< Slurm's KillWait is 30 s, and files are still to be written
constexpr milliseconds tick_on_terminal{250};
constexpr milliseconds tick_in_plain_mode{1000};

constexpr const char* summary_file = "summary.txt";

bool leaves_files(const workflows::Workflow& workflow) {
  return std::ranges::any_of(workflow.files, &workflows::FileRule::is_drained);
}

/// "; starts again in 1 s (restart 1 of 3)"
std::string restart_text(const ComponentProcesses::Member& member) {
  const workflows::FailurePolicy& failure = member.component->failure;
  return "; starts again in " + format_duration(failure.restart_delay) + " (restart " +
         std::to_string(member.starts) + " of " + std::to_string(failure.restarts) + ")";
}

int resumes_of(const RunOptions& options) {
  return options.restoration ? options.restoration->resumes : 0;
}

/// The record of steps is complete before the journal makes this run the last one.
RunJournal begin_journal(const RunSetting& setting, const RunOptions& options) {
  storage::PosixFileSystem files;
  storage::write_step_record(files, (setting.log_directory / step_record_file).string(),
                             options.restoration ? options.restoration->record : storage::StepRecord{});
  return {setting.log_directory, setting.workflow, setting.run, resumes_of(options), setting.nodes.names};
}

void write_private_file(const std::filesystem::path& path, std::string_view text) {
  const runtime::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file) (void)!::write(file.number(), text.data(), text.size());
}

}  // namespace

Run::Run(const workflows::Workflow& workflow, const Installation& installation, const RunOptions& options,
         const JobNodes& nodes)
    : options_(options),
      setting_(workflow, installation, options.console, options.log_directory, nodes),
      journal_(begin_journal(setting_, options)),
      signals_(setting_.loop, SIGINT, SIGTERM, SIGCHLD),
      tick_timer_(setting_.loop),
      drain_timer_(setting_.loop),
      limit_timer_(setting_.loop),
      stage_limit_(
          setting_.loop, [this](const std::string& text) { setting_.notice(text); },
          [this](const std::string& text) { failed(text); }),
      matcher_(setting_, *this),
      components_(setting_, *this),
      later_(setting_, *this),
      exposer_(setting_),
      watch_(setting_, matcher_, components_, options.notice_after),
      recorder_(setting_, matcher_, began_) {
  setting_.end_timeout = options.end_timeout;
  setting_.launch.environment.erase("SLUICE_VIRTUAL_NODES");
  setting_.launch.matcher_variables = matcher_variables(matcher_.size());
  for (const int signal : {SIGHUP, SIGQUIT}) {  // ignored: nohup, and shells for what runs in the background
    struct sigaction known {};
    ::sigaction(signal, nullptr, &known);
    if (known.sa_handler != SIG_IGN) signals_.add(signal);
  }
  for (const int signal : {SIGUSR1, SIGUSR2, SIGPWR}) signals_.add(signal);
  runtime::ignore_idle_signals();
}

int Run::execute() {
  await_signals();
  await_time_limit();
  try {
    start_matcher();
    setting_.loop.run();
  } catch (const std::exception& error) {
    failed(error.what());
  }
  outcome_.duration = watch_.since_start();
  outcome_.began = began_;
  outcome_.began_ns = setting_.run.begin_ns;
  outcome_.notice_after = options_.notice_after;
  outcome_.spill_directory = matcher_.spill().directory.string();
  outcome_.components = components_.outcomes();
  later_.report(outcome_.components);
  if (!outcome_.report) outcome_.last = recorder_.last();
  conclude();
  return outcome_.exit_status();
}

/// Prints the summary and writes it to a file.
void Run::conclude() {
  if (outcome_.report) {
    for (const runtime::MatcherStatus& matcher : outcome_.report->matchers)
      setting_.log("sluice", describe_matcher(matcher));
  }
  Console& console = setting_.console;
  outcome_.lost_output = console.failure();
  std::string summary = summarize(setting_.workflow, outcome_);
  console.status({});
  console.block(summary + "log: " + setting_.log_directory.string() + "\n");
  for (const std::string& text : find_coupling_warnings(setting_.workflow, outcome_)) {
    setting_.error("warning: " + text);
    recorder_.warn(text);
    summary += "warning: " + text + "\n";
  }
  write_private_file(setting_.log_directory / summary_file, summary);
  recorder_.end(describe_end(outcome_));
  if (console.progress() == ProgressForm::json)
    console.machine_line(end_as_json(describe_end(outcome_), outcome_.exit_status(), outcome_.duration));
  outcome_.lost_output = console.failure();  // failure of the summary's own output
  if (outcome_.report) journal_.note_memory(outcome_.report->bytes_staged_peak);
  journal_.note_end(outcome_.exit_status());
  if (options_.restoration && outcome_.exit_status() == status_ok) {
    std::error_code ignored;
    for (const std::string& file : options_.restoration->own_files) std::filesystem::remove(file, ignored);
  }
  if (!outcome_.lost_output.empty()) setting_.error(outcome_.lost_output);
  if (const std::string& failure = setting_.events.failure(); !failure.empty())
    console.error("the event log is incomplete: " + failure);
  setting_.log("sluice", "the run ended with exit status " + std::to_string(outcome_.exit_status()));
}

void Run::start_matcher() {
  setting_.log("sluice", "workflow " + setting_.workflow.name + ", " +
                             format_count(setting_.workflow.components.size(), "component"));
  matcher_.start();
  stage_limit_.begin(options_.ready_timeout, "the matcher is not ready", "--ready-timeout");
}

void Run::start_components() {
  if (stage_ != Stage::starting) return;
  stage_limit_.cancel();
  stage_ = Stage::running;
  const workflows::Workflow& workflow = setting_.workflow;
  const int processes = count_processes(workflow);
  const std::string where = setting_.nodes.are_several()
                                ? format_count(setting_.nodes.names.size(), "node")
                                : format_count(static_cast<std::uint64_t>(setting_.launch.cores), "core");
  setting_.console.notice(workflow.name + ": " + format_count(workflow.components.size(), "component") +
                          ", " + (processes == 1 ? "1 process" : std::to_string(processes) + " processes") +
                          " on " + where + "; log in " + setting_.log_directory.string());
  tell_where_data_spills();
  tell_restoration();
  let_others_find_run();
  exposer_.start([this] { exposer_ended(); });
  journal_.note_start();
  const std::set<std::string> done =
      options_.restoration ? options_.restoration->done : std::set<std::string>{};
  later_.begin(done);
  for (const std::string& name : done) matcher_.tell_exit({name, "had ended before the run was resumed"});
  components_.start_all(done);
  recorder_.begin();
  tick();
  check_whether_all_ended();
}

/// A run does its work without, too.
void Run::let_others_find_run() {
  try {
    write_run_record(setting_.directory, record_of(setting_.workflow, began_, setting_.log_directory));
  } catch (const Error& error) {
    setting_.notice(std::string("'sluice status' and other commands do not find this run: ") + error.what());
  }
}

void Run::tell_restoration() {
  if (!options_.restoration) return;
  for (const std::string& line : options_.restoration->describe()) setting_.notice(line);
}

void Run::tell_where_data_spills() {
  const SpillChoice& spill = matcher_.spill();
  if (!spill.directory.empty()) {
    return setting_.log("sluice", "data that does not fit in memory goes to " + spill.directory.string());
  }
  if (!spill.is_automatic) return;
  setting_.notice(
      "no directory is usable for data that does not fit in memory, so writers wait for readers. Set "
      "staging.spill to a directory (" +
      spill.trouble + ")");
}

/// It was not told to.
void Run::exposer_ended() {
  if (stage_ == Stage::running && !matcher_.is_line_lost())
    setting_.error("nothing is linked by 'expose: true' any more: its process has ended");
  matcher_.tell_exit({std::string(exposer_component), "has ended"});
}

void Run::component_not_started(const ComponentProcesses::Member& member) {
  const std::string& name = member.component->name;
  if (outcome_.first_failed.empty()) outcome_.first_failed = name;
  setting_.log(name, member.problem);
  setting_.console.error(name + ": " + member.problem);
  matcher_.tell_exit({name, "could not be started"});
  const bool stops_run = member.component->failure.stops_run;
  boost::asio::post(setting_.loop, [this, name, stops_run] {  // others are being started
    if (stops_run) stop_after_failure_of(name);
    if (runs_on()) components_.start_held_back();
    check_whether_all_ended();
  });
}

/// Whether nothing has asked components to end.
bool Run::is_by_itself() const {
  return outcome_.interrupted_by == 0 && outcome_.runtime_failure.empty() && outcome_.stopped_by.empty() &&
         outcome_.stopped_for.empty();
}

/// Whether components are still started.
bool Run::runs_on() const {
  return stage_ == Stage::running && is_by_itself() && !matcher_.is_line_lost();
}

/// Whether the process's failure is followed by another start.
bool Run::starts_again(const ComponentProcesses::Member& member) const {
  return runs_on() && member.may_restart();
}

void Run::component_exited(const ComponentProcesses::Member& member) {
  if (starts_again(member)) {
    components_.kill_rest(member);
  } else if (is_by_itself() && member.process->end()->failed() && outcome_.first_failed.empty()) {
    outcome_.first_failed = member.component->name;
  }
}

void Run::component_ended(const ComponentProcesses::Member& member) {
  const std::string& name = member.component->name;
  const std::string how = member.process->end()->describe();
  const bool is_failure = member.process->end()->failed();
  const bool is_again = starts_again(member);
  const std::string after =
      " after " + format_duration(member.process->duration()) + (is_again ? restart_text(member) : "");
  setting_.log(name, how + after);
  if (!is_failure) {
    const bool is_of_many = !member.component->ensemble.empty();
    is_of_many ? setting_.console.detail(name + " finished" + after)
               : setting_.console.notice(name + " finished" + after);
  } else if (outcome_.interrupted_by != 0 || !outcome_.stopped_by.empty() || !outcome_.stopped_for.empty()) {
    setting_.console.notice(name + " " + how + after);
  } else {
    setting_.console.error(name + " " + how + after);
  }
  if (is_failure && member.process->end()->shell_status() == 128 + SIGKILL && runs_on())
    setting_.notice(name +
                    ": SIGKILL comes from a user, a batch system, or a system that is out of memory (dmesg "
                    "tells). 'restarts: N' starts a component again");
  // What was asked to end has not done its work, whatever its status.
  matcher_.tell_exit({name, is_failure || is_by_itself() ? how : how + ", as it was asked to", is_again});
  recorder_.component_ended(name, how, member.process->end()->processor_time);
  if (!is_failure && is_by_itself()) journal_.note_end_of(name);
  if (is_again) return components_.restart(name);
  if (is_failure && member.component->failure.stops_run) stop_after_failure_of(name);
  if (runs_on()) components_.start_held_back();
  tell_end_of_ensemble(*member.component);
  check_whether_all_ended();
}

void Run::tell_end_of_ensemble(const workflows::Component& member) {
  const auto instances = static_cast<std::size_t>(member.instances);
  if (member.ensemble.empty() || components_.ended_members_of(member.ensemble) < instances) return;
  setting_.console.notice(member.ensemble + ": all " + std::to_string(instances) + " instances have ended");
}

void Run::job_failed(const workflows::Component& component) {
  if (!is_by_itself()) return;
  if (outcome_.first_failed.empty()) outcome_.first_failed = component.name;
  if (component.for_each->on_failure == workflows::ForEach::OnFailure::stop)
    boost::asio::post(setting_.loop, [this, &component] { stop_after_failure_of(component.name); });
}

void Run::jobs_over(const workflows::Component& component, const ComponentOutcome& outcome) {
  const std::string how = "ended after " + outcome.jobs->describe();
  setting_.log(component.name, how);
  setting_.console.notice(component.name + " " + how + " in " + format_duration(outcome.duration));
  if (outcome.jobs->failed == 0 && is_by_itself()) journal_.note_end_of(component.name);
  matcher_.tell_exit({component.name, how});
  check_later();
}

void Run::component_due(const workflows::Component& component) {
  setting_.log(component.name, "the writers of its files have ended");
  components_.start_due(component);
}

void Run::component_cancelled(const workflows::Component& component) {
  setting_.log(component.name, "is not started: the run ends");
  matcher_.tell_exit({component.name, "was not started"});
  check_later();
}

/// The component has failed for good, and its workflow says `on-failure: stop`.
void Run::stop_after_failure_of(const std::string& component) {
  if (stage_ != Stage::running || !is_by_itself()) return;
  outcome_.stopped_by = component;
  setting_.notice(component + " has failed, which stops the run (on-failure: stop)");
  ask_to_stop();
}

/// The run is about to end: nothing is started any more.
void Run::cancel_starts() {
  const std::vector<std::string> cancelled = components_.cancel_starts();
  for (const std::string& name : cancelled) {
    setting_.log(name, "is not started any more");
    matcher_.tell_exit({name, "was not started any more"});
  }
  if (!cancelled.empty()) check_later();
}

/// The caller still works with the components.
void Run::check_later() {
  boost::asio::post(setting_.loop, [this] { check_whether_all_ended(); });
}

void Run::check_whether_all_ended() {
  if (stage_ != Stage::running || !components_.have_all_ended() || !later_.have_all_ended()) return;
  const bool is_killed = interruptions_ > 1 || !outcome_.runtime_failure.empty();
  if (leaves_files(setting_.workflow) && !is_killed && !matcher_.is_line_lost()) return begin_draining();
  begin_shutdown();
}

/// Lets the matchers write coupled data that is still in memory to its files.
void Run::begin_draining() {
  stage_ = Stage::draining;
  stage_limit_.cancel();
  ask_for_progress();
}

void Run::begin_shutdown() {
  stage_ = Stage::shutting_down;
  exposer_.stop();
  tick_timer_.cancel();
  drain_timer_.cancel();
  // processes that a component left running
  for (const pid_t process :
       runtime::processes_with_environment(runtime::run_mark(setting_.directory.socket()))) {
    setting_.log("sluice", "killing process " + std::to_string(process) + ": its component has ended");
    ::kill(process, SIGKILL);
  }
  // The launcher may have ended without a lost connection. Then no event would follow.
  if (matcher_.is_line_lost() || has_matcher_exited_) return matcher_exited();
  recorder_.ask_last();
  matcher_.shut_down();
  stage_limit_.begin(options_.end_timeout, "the matcher has not ended", "--end-timeout");
}

/// A matcher that ends may have thousands of files to remove: its time begins anew with each sign of
/// progress.
void Run::matcher_told(const runtime::EventNotice& event) {
  watch_.tell_event(event);
  if (stage_ != Stage::shutting_down || outcome_.report || has_matcher_exited_ || matcher_.is_line_lost() ||
      !outcome_.runtime_failure.empty() || outcome_.interrupted_by != 0)
    return;
  stage_limit_.extend(options_.end_timeout, "the matcher has not ended", "--end-timeout");
}

void Run::finish() {
  stage_ = Stage::finished;
  setting_.loop.stop();
}

void Run::await_signals() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (signal == SIGUSR1) {
      print_status();
    } else if (signal == SIGUSR2) {
      stop_for("SIGUSR2", usual_time_to_stop);
    } else if (signal == SIGTERM && options_.is_in_batch_job && is_by_itself()) {
      stop_for("SIGTERM in a batch job", time_from_term_to_kill);
    } else if (signal == SIGCHLD) {
      matcher_.reap();
      exposer_.reap();
      components_.reap();
      later_.reap();
    } else {
      interrupted(signal);
    }
    await_signals();
  });
}

void Run::await_time_limit() {
  if (!options_.time_limit) return;
  const auto until_stop = *options_.time_limit - options_.stop_before;
  setting_.log("sluice", "the time limit is in " + format_duration(*options_.time_limit) +
                             "; the run is stopped " + format_duration(options_.stop_before) + " before");
  limit_timer_.expires_after(std::max(until_stop, seconds::zero()));
  limit_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) stop_for("the time limit", options_.stop_before);
  });
}

void Run::stop_for(const std::string& reason, milliseconds time) {
  if (stage_ == Stage::draining)
    return setting_.notice(reason + ": complete steps are still being written to their files");
  if (!is_by_itself() || stage_ == Stage::shutting_down || stage_ == Stage::finished) return;
  outcome_.stopped_for = reason;
  journal_.note_stop();
  setting_.notice("stopping for " + reason + ": asking the components to end, writers first, within " +
                  format_duration(time * 3 / 4));
  if (stage_ == Stage::starting) {
    kill_everything();
    return finish();
  }
  if (stage_ != Stage::running) return;
  note_stopped();
  cancel_starts();
  later_.cancel_awaited();
  components_.signal(first_to_stop(setting_.workflow), SIGTERM);
  stage_limit_.after(time / 2, [this, time] { stop_others(time / 4); });
}

void Run::stop_others(milliseconds time) {
  setting_.log("sluice", "asking the other components to end");
  later_.stop();
  later_.signal_all(SIGTERM);
  components_.signal_all(SIGTERM);
  stage_limit_.after(time, [this] { kill_everything(); });
}

void Run::print_status() {
  if (stage_ == Stage::starting) return setting_.console.error("the matchers are not ready yet");
  recorder_.print();
}

void Run::interrupted(int signal) {
  setting_.log("sluice", "received " + signal_name(signal));
  ++interruptions_;
  const bool again = outcome_.interrupted_by != 0;
  if (!again) outcome_.interrupted_by = signal;
  if (again) return kill_everything();
  if (stage_ == Stage::starting) {
    kill_everything();
    return finish();
  }
  if (stage_ == Stage::draining) {
    setting_.console.notice(
        signal_name(signal) +
        ": complete steps are still being written to their files; a second signal stops this");
    return;
  }
  if (stage_ == Stage::shutting_down || stage_ == Stage::finished) {  // matchers still remove logs
    setting_.console.notice(signal_name(signal) + ": the run is about to end; a second signal kills it");
    return;
  }
  setting_.console.notice(signal_name(signal) +
                          ": asking the components to stop; a second signal kills them");
  ask_to_stop();
}

/// Who has not ended by now does not end by itself.
void Run::note_stopped() {
  for (const ComponentOutcome& component : components_.outcomes())
    if (!component.end) outcome_.stopped.push_back(component.name);
}

void Run::ask_to_stop() {
  note_stopped();
  journal_.note_stop();
  cancel_starts();
  later_.stop();
  later_.signal_all(SIGTERM);
  components_.signal_all(SIGTERM);
  stage_limit_.after(time_to_stop, [this] { kill_everything(); });
}

void Run::kill_everything() {
  journal_.note_stop();
  cancel_starts();
  later_.stop();
  const bool has_launchers = components_.kill_all(later_.kill_all());
  const bool ends_matchers = stage_ != Stage::running;
  if (ends_matchers) matcher_.kill();
  if (!has_launchers && !(ends_matchers && matcher_.size().is_job() && matcher_.is_started())) return;
  // a launcher without ranks ends by itself, and removes its session's files
  stage_limit_.after(time_to_clean_up, [this] {
    if (stage_ != Stage::running) matcher_.kill_launcher();
    components_.kill_launchers();
    later_.signal_all(SIGKILL);
  });
}

void Run::matcher_line_lost(const std::string& reason) {
  if (stage_ == Stage::shutting_down && matcher_.size().is_job()) return await_launcher();
  if (stage_ == Stage::shutting_down || stage_ == Stage::finished) return;  // its exit is expected
  setting_.log("sluice", "the connection to the matcher is lost: " + reason);
  if (stage_ == Stage::starting) start_failure_ = reason;
  matcher_.kill();  // its error cannot be undone; the end of the matcher notifies the components
}

/// Waits for the launcher after the matchers have ended. Open MPI 4.1's mpirun sometimes hangs in
/// PMIx_server_finalize when its ranks have ended together.
void Run::await_launcher() {
  stage_limit_.after(time_to_clean_up, [this] {
    is_launcher_overdue_ = true;
    setting_.log("sluice", "killing the matchers' launcher, because it does not end");
    matcher_.kill_launcher();
  });
}

void Run::matcher_exited() {
  has_matcher_exited_ = true;
  stage_limit_.cancel();
  const bool orderly = stage_ == Stage::shutting_down && outcome_.report &&
                       (!matcher_.end()->failed() || is_launcher_overdue_);
  if (!orderly && outcome_.runtime_failure.empty() && outcome_.interrupted_by == 0) {
    outcome_.runtime_failure = "the matcher " + matcher_.end()->describe();
    if (!start_failure_.empty()) outcome_.runtime_failure += ": " + start_failure_;
    setting_.log("sluice", outcome_.runtime_failure);
    const auto* const consequence = stage_ == Stage::starting ? ""
                                    : stage_ == Stage::draining
                                        ? "; data that the matcher had not written to files is lost"
                                        : "; components get I/O errors from coupled files";
    setting_.console.error(outcome_.runtime_failure + consequence);
  }
  if (stage_ != Stage::running) return finish();
  later_.stop();  // nobody tells it of files any more
  // components that use coupled files end by themselves; the work of the others is useless
  stage_limit_.after(time_to_notice, [this] { ask_to_stop(); });
  check_whether_all_ended();  // none may have been started
}

void Run::failed(const std::string& what) {
  if (outcome_.runtime_failure.empty()) outcome_.runtime_failure = what;
  setting_.error(what);
  kill_everything();
}

void Run::tick() {
  tick_timer_.expires_after(setting_.console.has_status() ? tick_on_terminal : tick_in_plain_mode);
  tick_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || (stage_ != Stage::running && stage_ != Stage::draining)) return;
    ask_for_progress();
    watch_.look_for_answer();
    tick();
  });
}

void Run::ask_for_progress() {
  watch_.ask([this](const runtime::RunView& view) {
    if (stage_ == Stage::draining) return show_draining(view);
    if (stage_ != Stage::running) return;
    std::vector<ComponentStage> stages = components_.stages();
    later_.report(stages);
    watch_.show_progress(view, stages);
  });
}

/// Waits until all drains have ended. The matcher may not know yet that the components have ended.
void Run::show_draining(const runtime::RunView& view) {
  const auto ended = std::ranges::count_if(view.components, &matcher::ComponentView::has_exited);
  if (view.drains.empty() && view.waiting_drains == 0 &&
      static_cast<std::size_t>(ended) >= components_.count())
    return begin_shutdown();
  if (!view.drains.empty()) watch_.show_draining(view);
  constexpr milliseconds until_next_look{20};
  drain_timer_.expires_after(until_next_look);
  drain_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && stage_ == Stage::draining) ask_for_progress();
  });
}

}  // namespace sluice::coordinator
