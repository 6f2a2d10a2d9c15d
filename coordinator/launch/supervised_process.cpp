#include "supervised_process.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "sluice/runtime/run_processes.hpp"

namespace sluice::coordinator {
namespace {

/// The time for remaining output after the process has ended.
constexpr std::chrono::seconds time_for_output{2};

// Of launchers whose processes have all ended, and who have not collected them.
constexpr std::chrono::seconds between_looks{2};
constexpr int looks_until_reminded = 3;
constexpr int looks_until_ended = 6;
constexpr int looks_until_killed = 11;

/// Other launchers may have a reason to go on.
bool is_mpirun(pid_t process) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(stream, name);
  return name == "mpirun" || name == "orterun" || name == "mpiexec";
}

}  // namespace

SupervisedProcess::SupervisedProcess(boost::asio::io_context& context, Console& console, std::string label,
                                     ChildOptions options, bool is_launcher, Callbacks callbacks,
                                     std::optional<RankTerminals> terminals)
    : console_(console),
      label_(std::move(label)),
      is_launcher_(is_launcher),
      callbacks_(std::move(callbacks)),
      grace_(context),
      launcher_timer_(context) {
  Pipe output = make_pipe();
  Pipe error = make_pipe();
  options.output = output.write_end.number();
  options.error = error.write_end.number();
  id_ = start_child(options);
  forward(context, console, Stream::out, std::move(output.read_end));
  forward(context, console, Stream::error, std::move(error.read_end));
  if (is_launcher_) watch_launcher();
  if (!terminals) return;
  for (runtime::FileDescriptor& read_end : terminals->read_ends)
    forward(context, console, Stream::out, std::move(read_end));
  kept_open_ = std::move(terminals->kept_open);
}

void SupervisedProcess::forward(boost::asio::io_context& context, Console& console, Stream stream,
                                runtime::FileDescriptor read_end) {
  outputs_.push_back(std::make_unique<OutputForwarder>(
      context, std::move(read_end),
      [this, &console, stream](std::string_view line) { console.line(stream, label_, line); },
      [this] { output_closed(); }));
}

void SupervisedProcess::watch_launcher() {
  launcher_timer_.expires_after(between_looks);
  launcher_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || end_) return;
    look_at_launcher();
    watch_launcher();
  });
}

/// Open MPI 4.1's mpirun can miss the signal that a rank has ended, and then waits for ever.
void SupervisedProcess::look_at_launcher() {
  const bool is_alone = is_mpirun(id_) && runtime::have_all_children_ended(id_);
  looks_without_processes_ = is_alone ? looks_without_processes_ + 1 : 0;
  if (looks_without_processes_ == looks_until_reminded) ::kill(id_, SIGCHLD);
  if (looks_without_processes_ == looks_until_ended) {
    console_.notice(
        label_ + ": all processes of its launcher have ended, and the launcher has not noticed: it is ended");
    signal_group(SIGTERM);
  }
  if (looks_without_processes_ == looks_until_killed) signal_group(SIGKILL);
}

bool SupervisedProcess::has_open_outputs() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const auto& output) { return output->is_open(); });
}

void SupervisedProcess::reap() {
  int status = 0;
  if (end_ || ::waitpid(id_, &status, WNOHANG) != id_) return;
  end_ = end_of_process(status, is_launcher_);
  exited_ = std::chrono::steady_clock::now();
  kept_open_.clear();
  launcher_timer_.cancel();
  callbacks_.on_exit();
  if (!has_open_outputs()) return tell_end();
  grace_.expires_after(time_for_output);
  grace_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    for (const auto& output : outputs_) output->finish();
  });
}

void SupervisedProcess::output_closed() {
  if (end_ && !has_open_outputs()) tell_end();
}

void SupervisedProcess::tell_end() {
  if (has_reported_end_) return;
  has_reported_end_ = true;
  grace_.cancel();
  callbacks_.on_end();
}

void SupervisedProcess::signal_group(int signal) const {
  ::kill(-id_, signal);
}

std::chrono::milliseconds SupervisedProcess::duration() const {
  const auto until = end_ ? exited_ : std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::milliseconds>(until - started_);
}

}  // namespace sluice::coordinator
