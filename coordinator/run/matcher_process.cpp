#include "matcher_process.hpp"

#include <algorithm>
#include <csignal>

#include "format.hpp"
#include "mpi_launchers.hpp"
#include "run_journal.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/run_processes.hpp"
#include "workflow_messages.hpp"

namespace sluice::coordinator {
namespace {

/// Open MPI's launcher, under the name that PATH has for it. Throws Error if there is none.
std::string launcher_of_matchers(const Environment& environment) {
  MpiLauncher launcher = find_mpi_launcher(MpiFamily::open_mpi, environment);
  if (!launcher.problem.empty())
    throw Error(NC_EINVAL, "several matchers are a job of Open MPI, but " + launcher.problem);
  return launcher.program;
}

}  // namespace

MatcherProcess::MatcherProcess(RunSetting& setting, Listener& listener)
    : setting_(setting),
      listener_(listener),
      size_(matcher_job_size(setting.workflow, setting.launch.environment, setting.nodes)),
      spill_(choose_spill(setting.workflow, setting.launch.environment)),
      connection_watch_(setting.loop) {}

void MatcherProcess::start() {
  ChildOptions child = size_.is_job() ? job() : alone();
  part_jobs(child.environment, setting_.directory, ".matchers");  // no component's name begins with a dot
  setting_.log("sluice", "the matcher starts: " + as_shell_command(child.arguments));
  process_ = std::make_unique<SupervisedProcess>(
      setting_.loop, setting_.console, "matcher", std::move(child),
      SupervisedProcess::Launching{size_.is_job(), setting_.end_timeout},
      SupervisedProcess::Callbacks{[] {}, [this] { listener_.matcher_exited(); }});
  inherited_line_.reset();
}

ChildOptions MatcherProcess::alone() {
  runtime::SocketPair pair = runtime::connected_pair();
  ChildOptions child;
  child.program = setting_.installation.matcher.string();
  child.arguments = {"sluice-matcher", "--socket", setting_.directory.socket().string(), "--coordinator-fd",
                     std::to_string(first_inherited)};
  for (std::string& word : matcher_options(size_)) child.arguments.push_back(std::move(word));
  child.environment = setting_.launch.environment;
  child.inherited = {pair.second.descriptor()};
  child.signal_at_our_death = SIGKILL;
  inherited_line_ = std::move(pair.second);
  take_line(std::move(pair.first));
  return child;
}

/// Plans the MPI job. Its ranks inherit no descriptors, so matcher 0 connects to the coordinator.
ChildOptions MatcherProcess::job() {
  connection_listener_ = runtime::listen_at(setting_.directory.coordinator_socket());
  connection_watch_.assign(connection_listener_.number());
  await_connection();
  const bool by_mpirun = !size_.by_srun || size_.is_virtual;
  if (by_mpirun) setting_.launch.matcher_launcher = launcher_of_matchers(setting_.launch.environment);
  LaunchPlan plan = plan_matchers(size_, setting_.launch, setting_.installation.matcher, setting_.directory);
  ChildOptions child;
  child.program = plan.arguments.front();
  child.arguments = std::move(plan.arguments);
  child.environment = std::move(plan.environment);
  child.signal_at_our_death = SIGTERM;  // the launcher ends its ranks itself
  return child;
}

void MatcherProcess::await_connection() {
  using boost::asio::posix::stream_descriptor;
  connection_watch_.async_wait(stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    auto socket = runtime::accept_connection(connection_listener_);
    if (!socket) return await_connection();
    connection_watch_.release();
    connection_listener_.reset();
    take_line(std::move(*socket));
  });
}

void MatcherProcess::take_line(runtime::PacketSocket socket) {
  line_ = std::make_unique<MatcherLine>(setting_.loop, std::move(socket), listener_);
  runtime::CoordinatorHello hello = hello_for(setting_.workflow);
  const bool is_chosen = setting_.workflow.prewarm_bytes || hello.prewarm_bytes == 0;
  const std::uint64_t peak = is_chosen ? 0 : former_peak(setting_.workflow, setting_.log_directory);
  // Memory made ahead that leaves no room for anything else would be dropped.
  if (peak > 0) hello.prewarm_bytes = std::min(peak + peak / 4, hello.memory_bytes / 4 * 3);
  hello.spill_directory = spill_.directory.string();
  hello.may_spill_elsewhere = spill_.is_automatic;
  if (setting_.keeps_record("steps"))
    hello.step_record = std::filesystem::absolute(setting_.log_directory / step_record_file).string();
  line_->send_hello(hello);
}

void MatcherProcess::kill() {
  if (!process_ || process_->end()) return;
  if (!size_.is_job()) return process_->signal_group(SIGKILL);
  for (const pid_t process : processes()) ::kill(process, SIGKILL);
  process_->signal_group(SIGTERM);
}

void MatcherProcess::kill_launcher() {
  if (process_ && !process_->end()) process_->signal_group(SIGKILL);
}

void MatcherProcess::reap() {
  if (process_) process_->reap();
}

std::optional<ProcessEnd> MatcherProcess::end() const {
  return process_ ? process_->end() : std::nullopt;
}

std::vector<pid_t> MatcherProcess::processes() const {
  if (size_.is_job())
    return runtime::processes_with_environment(runtime::matcher_mark(setting_.directory.socket()));
  return process_ ? std::vector<pid_t>{process_->id()} : std::vector<pid_t>{};
}

void MatcherProcess::tell_exit(const runtime::ComponentExited& exit) {
  if (line_) line_->tell_exit(exit);
}

void MatcherProcess::tell_job(const runtime::JobNote& job) {
  if (line_) line_->tell_job(job);
}

void MatcherProcess::watch(const runtime::WatchRequest& request, MatcherLine::ViewReceiver receiver) {
  if (line_) line_->watch(request, std::move(receiver));
}

void MatcherProcess::shut_down() {
  if (line_) line_->shut_down();
}

}  // namespace sluice::coordinator
