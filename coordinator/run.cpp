#include "run.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "coupling_warnings.hpp"
#include "descriptor_limit.hpp"
#include "format.hpp"
#include "readiness.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/runtime/run_processes.hpp"
#include "sluice/runtime/session.hpp"
#include "workflow_messages.hpp"

namespace sluice::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds time_to_stop{5};      ///< from SIGTERM to SIGKILL
constexpr seconds time_to_notice{10};   ///< that the matcher is gone
constexpr seconds time_to_clean_up{2};  ///< for a launcher whose ranks were killed
constexpr seconds time_until_slow{5};   ///< then a stage that is not over is told of

constexpr const char* log_file = "events.log";
constexpr const char* summary_file = "summary.txt";

/// What Open MPI's jobs make in directories of their own goes with the run, whoever was killed. Other
/// machines have no such directories.
void keep_jobs_together(Environment& environment, const RunDirectory& directory, const JobNodes& nodes) {
  if (nodes.are_several()) return;
  if (!environment.contains("OMPI_MCA_orte_local_tmpdir_base"))
    environment.emplace("OMPI_MCA_orte_tmpdir_base", directory.sessions().string());
  if (directory.shared_memory().empty()) return;
  for (const char* user : {"btl_vader", "osc_sm", "osc_rdma"})
    environment.emplace(std::string("OMPI_MCA_") + user + "_backing_directory",
                        directory.shared_memory().string());
}

/// Each job has a place of its own there: two that make the same directory at once fail in Open MPI 4.1.
void part_jobs(Environment& environment, const RunDirectory& directory, const std::string& job) {
  const auto base = environment.find("OMPI_MCA_orte_tmpdir_base");
  if (base == environment.end() || base->second != directory.sessions().string()) return;
  base->second = (directory.sessions() / job).string();
  std::error_code ignored;  // then Open MPI says what is wrong
  std::filesystem::create_directory(base->second, ignored);
}

LaunchContext launch_context(const Installation& installation, const RunDirectory& directory,
                             const JobNodes& nodes) {
  LaunchContext context;
  context.environment = current_environment();
  // For all of it: logs and files say which run they are of.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  context.environment["SLUICE_RUN"] = runtime::encode_run_identity(
      {runtime::random_number(), std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()});
  remove_surrounding_job(context.environment);
  keep_jobs_together(context.environment, directory, nodes);
  context.socket_path = directory.socket().string();
  context.client_library = installation.client_library;
  context.nodes = static_cast<int>(std::max<std::size_t>(nodes.names.size(), 1));
  if (context.client_library.string().find_first_of(" :") != std::string::npos) {
    if (nodes.are_several()) {
      throw Error(NC_EINVAL, "the path of " + context.client_library.string() +
                                 " has a blank or a colon, which LD_PRELOAD cannot name on other machines: "
                                 "install Sluice elsewhere");
    }
    // LD_PRELOAD has no way to quote
    context.client_library = directory.library_link();
    std::filesystem::create_symlink(installation.client_library, context.client_library);
  }
  context.cores = usable_cores();
  context.is_root = ::geteuid() == 0;
  return context;
}

/// mpirun's ranks find theirs by a variable of Open MPI.
bool has_rank_terminals(const workflows::Workflow& workflow, const workflows::Component& component) {
  return is_launched(workflow, component) && workflow.launcher.kind == workflows::Launcher::Kind::mpirun;
}

bool leaves_files(const workflows::Workflow& workflow) {
  const auto rules = hello_for(workflow).rules;
  return std::ranges::any_of(rules, [](const matcher::FileRule& rule) { return rule.is_drained(); });
}

/// As one would type it into a shell, on one line.
std::string as_shell_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool is_plain =
        !word.empty() &&
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@") ==
            std::string::npos;
    if (is_plain) {
      text += word;
      continue;
    }
    text += "$'";
    for (const char c : word)
      text += c == '\n'                ? "\\n"
              : c == '\t'              ? "\\t"
              : c == '\'' || c == '\\' ? std::string("\\") + c
                                       : std::string(1, c);
    text += '\'';
  }
  return text;
}

void write_private_file(const std::filesystem::path& path, std::string_view text) {
  const runtime::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file) (void)!::write(file.number(), text.data(), text.size());
}

}  // namespace

Run::Run(const workflows::Workflow& workflow, const Installation& installation, const RunOptions& options,
         const JobNodes& nodes, Inspections inspections)
    : workflow_(workflow),
      installation_(installation),
      options_(options),
      inspections_(std::move(inspections)),
      console_(options.console),
      log_directory_(create_log_directory(options.log_directory, workflow.file, workflow.name)),
      log_(log_directory_ / log_file),
      directory_(base_for_run_directories(nodes.are_several())),
      guardian_(installation, directory_),
      launch_context_(launch_context(installation, directory_, nodes)),
      nodes_(nodes),
      matchers_(matcher_job_size(workflow, launch_context_.environment, nodes)),
      spill_(choose_spill(workflow, launch_context_.environment)),
      signals_(context_, SIGINT, SIGTERM, SIGCHLD),
      tick_timer_(context_),
      drain_timer_(context_),
      deadline_(context_),
      slow_timer_(context_),
      matcher_listener_watch_(context_),
      wait_notices_(options.notice_after),
      unread_notices_(options.notice_after),
      has_room_for_terminals_(has_room_for_terminals(workflow)),
      next_progress_(progress_interval) {
  launch_context_.environment.erase("SLUICE_VIRTUAL_NODES");
  launch_context_.matcher_variables = matcher_variables(matchers_);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) signals_.add(SIGHUP);  // nohup
  ::signal(SIGPIPE, SIG_IGN);
}

int Run::execute() {
  await_signals();
  try {
    start_matcher();
    context_.run();
  } catch (const std::exception& error) {
    runtime_failed(error.what());
  }
  collect_outcome();
  if (outcome_.report) {
    for (const runtime::MatcherStatus& matcher : outcome_.report->matchers)
      log("sluice", describe_matcher(matcher));
  }
  outcome_.lost_output = console_.failure();
  std::string summary = summarize(workflow_, outcome_);
  console_.status("");
  console_.block(summary + "log: " + log_directory_.string() + "\n");
  for (const std::string& warning : find_coupling_warnings(workflow_, outcome_, inspections_)) {
    log("sluice", "warning: " + warning);
    console_.error("warning: " + warning);
    summary += "warning: " + warning + "\n";
  }
  write_private_file(log_directory_ / summary_file, summary);
  outcome_.lost_output = console_.failure();  // of the summary itself
  if (!outcome_.lost_output.empty()) {
    log("sluice", outcome_.lost_output);
    console_.error(outcome_.lost_output);
  }
  if (!log_.failure().empty()) console_.error("the event log is incomplete: " + log_.failure());
  log("sluice", "the run ended with exit status " + std::to_string(outcome_.exit_status()));
  return outcome_.exit_status();
}

milliseconds Run::since_start() const {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - started_);
}

void Run::log(std::string_view source, std::string_view text) {
  log_.add(source, text);
}

void Run::start_matcher() {
  log("sluice", "workflow " + workflow_.name + ", " + format_count(workflow_.components.size(), "component"));
  ChildOptions child = matchers_.is_job() ? matcher_job() : matcher_alone();
  part_jobs(child.environment, directory_, ".matchers");  // no component's name begins with a dot
  log("sluice", "the matcher starts: " + as_shell_command(child.arguments));
  matcher_ =
      std::make_unique<SupervisedProcess>(context_, console_, "matcher", std::move(child), matchers_.is_job(),
                                          SupervisedProcess::Callbacks{[] {}, [this] { matcher_exited(); }});
  inherited_line_.reset();
  limit_stage(options_.ready_timeout, "the matcher is not ready", "--ready-timeout");
}

ChildOptions Run::matcher_alone() {
  runtime::SocketPair pair = runtime::connected_pair();
  ChildOptions child;
  child.program = installation_.matcher.string();
  child.arguments = {"sluice-matcher", "--socket", directory_.socket().string(), "--coordinator-fd",
                     std::to_string(first_inherited)};
  for (std::string& word : matcher_options(matchers_)) child.arguments.push_back(std::move(word));
  child.environment = launch_context_.environment;
  child.inherited = {pair.second.descriptor()};
  child.signal_at_our_death = SIGKILL;
  inherited_line_ = std::move(pair.second);
  take_matcher_line(std::move(pair.first));
  return child;
}

/// No descriptor reaches the ranks of an MPI job: matcher 0 connects to us.
ChildOptions Run::matcher_job() {
  matcher_listener_ = runtime::listen_at(directory_.coordinator_socket());
  matcher_listener_watch_.assign(matcher_listener_.number());
  await_matcher();
  LaunchPlan plan = plan_matchers(matchers_, launch_context_, installation_.matcher, directory_);
  ChildOptions child;
  child.program = plan.arguments.front();
  child.arguments = std::move(plan.arguments);
  child.environment = std::move(plan.environment);
  child.signal_at_our_death = SIGTERM;  // the launcher ends its ranks itself
  return child;
}

void Run::await_matcher() {
  using boost::asio::posix::stream_descriptor;
  matcher_listener_watch_.async_wait(stream_descriptor::wait_read,
                                     [this](const boost::system::error_code& error) {
                                       if (error) return;
                                       auto socket = runtime::accept_connection(matcher_listener_);
                                       if (!socket) return await_matcher();
                                       matcher_listener_watch_.release();
                                       matcher_listener_.reset();
                                       take_matcher_line(std::move(*socket));
                                     });
}

void Run::take_matcher_line(runtime::PacketSocket socket) {
  line_ = std::make_unique<MatcherLine>(
      context_, std::move(socket),
      MatcherLine::Callbacks{[this] { start_components(); },
                             [this](const runtime::StatusReport& report) { received(report); },
                             [this](const runtime::EventNotice& event) { matcher_told(event); },
                             [this](const std::string& reason) { matcher_lost(reason); }});
  runtime::CoordinatorHello hello = hello_for(workflow_);
  hello.spill_directory = spill_.directory.string();
  hello.may_spill_elsewhere = spill_.is_automatic;
  line_->send_hello(hello);
}

/// A launcher ends by itself without its ranks, and removes its session's files.
void Run::kill_matchers() {
  if (!matcher_ || matcher_->end()) return;
  if (!matchers_.is_job()) return matcher_->signal_group(SIGKILL);
  for (const pid_t process : runtime::processes_with_environment(runtime::matcher_mark(directory_.socket())))
    ::kill(process, SIGKILL);
  matcher_->signal_group(SIGTERM);
}

void Run::start_components() {
  if (stage_ != Stage::starting) return;
  deadline_.cancel();
  slow_timer_.cancel();
  stage_ = Stage::running;
  const int processes = count_processes(workflow_);
  const std::string where = nodes_.are_several()
                                ? format_count(nodes_.names.size(), "node")
                                : format_count(static_cast<std::uint64_t>(launch_context_.cores), "core");
  console_.notice(workflow_.name + ": " + format_count(workflow_.components.size(), "component") + ", " +
                  (processes == 1 ? "1 process" : std::to_string(processes) + " processes") + " on " + where +
                  "; log in " + log_directory_.string());
  tell_where_data_spills();
  members_.resize(workflow_.components.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].component = &workflow_.components[i];
    start_component(members_[i]);
  }
  tick();
  check_whether_all_ended();
}

void Run::tell_where_data_spills() {
  if (!spill_.directory.empty()) {
    return log("sluice", "what finds no room in memory goes to " + spill_.directory.string());
  }
  if (!spill_.is_automatic) return;
  const std::string text =
      "data that finds no room in memory has nowhere to go, and writers wait for readers instead: name a "
      "directory as staging.spill (" +
      spill_.trouble + ")";
  log("sluice", text);
  console_.notice(text);
}

void Run::start_component(Member& member) {
  const std::string& name = member.component->name;
  std::optional<RankTerminals> terminals;
  if (has_room_for_terminals_ && has_rank_terminals(workflow_, *member.component) &&
      !nodes_.components_elsewhere.contains(name)) {
    terminals = open_rank_terminals(directory_.path(), name, member.component->ranks);
  }
  LaunchPlan plan =
      plan_launch(workflow_, *member.component, launch_context_, terminals ? terminals->prefix : "");
  ChildOptions child;
  child.program = plan.arguments.front();
  child.arguments = std::move(plan.arguments);
  child.environment = std::move(plan.environment);
  part_jobs(child.environment, directory_, name);
  child.directory = std::move(plan.directory);
  child.signal_at_our_death = plan.by_launcher ? SIGTERM : SIGKILL;  // a launcher ends its ranks itself
  log(name, "starts in " + child.directory.string() + ": " + as_shell_command(child.arguments));
  if (!is_coupled(workflow_, name)) log(name, "no file rule names it: all of its files are ordinary ones");
  console_.detail(name + ": " + as_shell_command(child.arguments));
  try {
    member.process = std::make_unique<SupervisedProcess>(
        context_, console_, name, std::move(child), plan.by_launcher,
        SupervisedProcess::Callbacks{[this, &member] { component_exited(member); },
                                     [this, &member] { component_ended(member); }},
        std::move(terminals));
  } catch (const IoError& error) {
    member.problem = error.what();
    if (outcome_.first_failed.empty()) outcome_.first_failed = name;
    log(name, member.problem);
    console_.error(name + ": " + member.problem);
    line_->tell_exit({name, "could not be started"});
  }
}

void Run::component_exited(const Member& member) {
  const bool by_itself = outcome_.interrupted_by == 0 && outcome_.runtime_failure.empty();
  if (by_itself && member.process->end()->failed() && outcome_.first_failed.empty()) {
    outcome_.first_failed = member.component->name;
  }
}

void Run::component_ended(Member& member) {
  const std::string& name = member.component->name;
  const std::string how = member.process->end()->describe();
  const std::string after = " after " + format_duration(member.process->duration());
  log(name, how + after);
  if (!member.process->end()->failed()) {
    console_.notice(name + " finished" + after);
  } else if (outcome_.interrupted_by != 0) {
    console_.notice(name + " " + how + after);
  } else {
    console_.error(name + " " + how + after);
  }
  line_->tell_exit({name, how});
  check_whether_all_ended();
}

void Run::check_whether_all_ended() {
  const bool all =
      std::all_of(members_.begin(), members_.end(), [](const Member& member) { return member.has_ended(); });
  if (stage_ != Stage::running || !all) return;
  const bool is_killed = interruptions_ > 1 || !outcome_.runtime_failure.empty();
  if (leaves_files(workflow_) && !is_killed && !line_->is_lost()) return begin_draining();
  begin_shutdown();
}

/// What the components have left in memory goes to its files.
void Run::begin_draining() {
  stage_ = Stage::draining;
  deadline_.cancel();
  ask_for_status();
}

void Run::begin_shutdown() {
  stage_ = Stage::shutting_down;
  tick_timer_.cancel();
  drain_timer_.cancel();
  // processes that a component left in the background
  for (const pid_t process : runtime::processes_with_environment(runtime::run_mark(directory_.socket()))) {
    log("sluice",
        "process " + std::to_string(process) + " of a component that has ended is still there: it is killed");
    ::kill(process, SIGKILL);
  }
  // Its launcher may have ended, and the line to it not: then nobody is there any more who would tell.
  if (line_->is_lost() || has_matcher_exited_) return matcher_exited();
  line_->shut_down();
  limit_stage(options_.end_timeout, "the matcher has not ended", "--end-timeout");
}

/// Says when a stage takes long, and ends the run when it takes longer than `limit`. `what` is true until the
/// stage is over; `option` sets the limit.
void Run::limit_stage(seconds limit, const std::string& what, const std::string& option) {
  tell_slow_stage(what, limit, option);
  if (limit == seconds::zero()) return;
  deadline_.expires_after(limit);
  deadline_.async_wait([this, limit, what, option](const boost::system::error_code& error) {
    if (!error)
      runtime_failed(what + " after " + std::to_string(limit.count()) + " s; " + option + " allows more");
  });
}

void Run::tell_slow_stage(const std::string& what, seconds limit, const std::string& option) {
  slow_timer_.expires_after(time_until_slow);
  slow_timer_.async_wait([this, what, limit, option, stage = stage_](const boost::system::error_code& error) {
    if (error || stage_ != stage) return;
    const std::string until =
        limit == seconds::zero() ? "" : "; the run ends after " + std::to_string(limit.count()) + " s";
    const std::string notice =
        what + " after " + std::to_string(time_until_slow.count()) + " s" + until + " (" + option + ")";
    log("sluice", notice);
    console_.notice(notice);
  });
}

void Run::finish() {
  stage_ = Stage::finished;
  context_.stop();
}

void Run::await_signals() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (signal == SIGCHLD) {
      if (matcher_) matcher_->reap();
      for (Member& member : members_) {
        if (member.process) member.process->reap();
      }
    } else {
      interrupted(signal);
    }
    await_signals();
  });
}

void Run::interrupted(int signal) {
  log("sluice", "received " + signal_name(signal));
  ++interruptions_;
  const bool again = outcome_.interrupted_by != 0;
  if (!again) outcome_.interrupted_by = signal;
  if (again || stage_ == Stage::shutting_down) return kill_everything();
  if (stage_ == Stage::starting) {
    kill_everything();
    return finish();
  }
  if (stage_ == Stage::draining) {
    console_.notice(signal_name(signal) +
                    ": what is complete is still written to its files; once more ends that");
    return;
  }
  console_.notice(signal_name(signal) + ": components are asked to stop; once more kills them");
  ask_to_stop();
}

void Run::ask_to_stop() {
  stop_components(SIGTERM);
  deadline_.expires_after(time_to_stop);
  deadline_.async_wait([this](const boost::system::error_code& error) {
    if (!error) kill_everything();
  });
}

void Run::stop_components(int signal) {
  for (const Member& member : members_) {
    if (member.has_ended()) continue;
    member.process->signal_group(signal);
    member.process->signal_group(SIGCONT);
  }
}

void Run::kill_everything() {
  std::set<pid_t> launchers;
  for (const Member& member : members_) {
    if (member.has_ended()) continue;
    const bool is_launcher = member.process->is_launcher();
    member.process->signal_group(is_launcher ? SIGTERM : SIGKILL);
    if (is_launcher) launchers.insert(member.process->id());
  }
  for (const pid_t process : runtime::processes_with_environment(runtime::run_mark(directory_.socket()))) {
    if (!launchers.contains(process)) ::kill(process, SIGKILL);
  }
  if (stage_ != Stage::running) kill_matchers();
  const bool ends_matchers = matchers_.is_job() && matcher_ && stage_ != Stage::running;
  if (launchers.empty() && !ends_matchers) return;
  // without its ranks a launcher ends by itself, and removes its session's files
  deadline_.expires_after(time_to_clean_up);
  deadline_.async_wait([this](const boost::system::error_code& error) {
    if (!error) kill_launchers();
  });
}

void Run::kill_launchers() {
  if (matcher_ && !matcher_->end() && stage_ != Stage::running) matcher_->signal_group(SIGKILL);
  for (const Member& member : members_) {
    if (!member.has_ended()) member.process->signal_group(SIGKILL);
  }
}

void Run::matcher_told(const runtime::EventNotice& event) {
  const std::string& text = event.text;
  constexpr std::size_t most_shown = 20;  // a program that tries again and again would fill the screen
  log("matcher", text);
  if (event.is_detail) return console_.detail(text);
  if (events_shown_.size() > most_shown || !events_shown_.insert(text).second) return console_.detail(text);
  console_.notice(events_shown_.size() > most_shown ? "more such events are in the log" : text);
}

void Run::matcher_lost(const std::string& reason) {
  if (stage_ == Stage::shutting_down && matchers_.is_job()) return await_launcher();
  if (stage_ == Stage::shutting_down || stage_ == Stage::finished) return;  // its exit is awaited
  log("sluice", "the line to the matcher is lost: " + reason);
  if (stage_ == Stage::starting) start_failure_ = reason;
  if (!matcher_ || matcher_->end()) return;
  // what it did wrong cannot be undone; its end tells the components
  kill_matchers();
}

/// The matchers have ended, and so will their launcher, unless it stands still: Open MPI 4.1's mpirun does at
/// times, in PMIx_server_finalize, when its ranks have ended together.
void Run::await_launcher() {
  deadline_.expires_after(time_to_clean_up);
  deadline_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    is_launcher_overdue_ = true;
    log("sluice", "the matchers' launcher does not end: it is killed");
    matcher_->signal_group(SIGKILL);
  });
}

void Run::matcher_exited() {
  has_matcher_exited_ = true;
  deadline_.cancel();
  slow_timer_.cancel();
  const bool orderly = stage_ == Stage::shutting_down && outcome_.report &&
                       (!matcher_->end()->failed() || is_launcher_overdue_);
  if (!orderly && outcome_.runtime_failure.empty() && outcome_.interrupted_by == 0) {
    outcome_.runtime_failure = "the matcher " + matcher_->end()->describe();
    if (!start_failure_.empty()) outcome_.runtime_failure += ": " + start_failure_;
    log("sluice", outcome_.runtime_failure);
    const auto* const consequence = stage_ == Stage::starting ? ""
                                    : stage_ == Stage::draining
                                        ? "; what it had not written to files is lost"
                                        : "; components get I/O errors from coupled files";
    console_.error(outcome_.runtime_failure + consequence);
  }
  if (stage_ != Stage::running) return finish();
  // those that use coupled files end by themselves; the others' work is in vain
  deadline_.expires_after(time_to_notice);
  deadline_.async_wait([this](const boost::system::error_code& error) {
    if (!error) ask_to_stop();
  });
}

void Run::runtime_failed(const std::string& what) {
  if (outcome_.runtime_failure.empty()) outcome_.runtime_failure = what;
  log("sluice", what);
  console_.error(what);
  kill_everything();
}

void Run::collect_outcome() {
  outcome_.duration = since_start();
  outcome_.began = began_;
  outcome_.spill_directory = spill_.directory.string();
  for (const workflows::Component& component : workflow_.components) {
    ComponentOutcome outcome;
    outcome.name = component.name;
    outcome.ranks = component.ranks;
    const auto member = std::find_if(members_.begin(), members_.end(), [&](const Member& candidate) {
      return candidate.component == &component;
    });
    if (member != members_.end()) {
      outcome.problem = member->problem;
      if (member->process) {
        outcome.end = member->process->end();
        outcome.duration = member->process->duration();
      }
    }
    outcome_.components.push_back(std::move(outcome));
  }
}

}  // namespace sluice::coordinator
