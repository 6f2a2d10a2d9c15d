#include "supervised_process.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "sluice/runtime/run_processes.hpp"

namespace sluice::coordinator {
namespace {

/// The time for remaining output after the process has ended.
constexpr std::chrono::seconds time_for_output{2};

/// The time for processes that the process has left in the background, and between two looks at them.
constexpr std::chrono::seconds time_for_others{10};
constexpr std::chrono::milliseconds between_looks{200};

/// Within the patience with a launcher whose processes have all ended. At these parts of it the launcher is
/// reminded, asked to end, and killed.
constexpr int looks = 10;
constexpr int looks_until_reminded = 3;
constexpr int looks_until_ended = 6;

/// Other launchers may have a reason to go on.
bool is_mpirun(pid_t process) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(stream, name);
  return name == "mpirun" || name == "orterun" || name == "mpiexec";
}

std::chrono::milliseconds time_of(const timeval& time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::seconds(time.tv_sec) +
                                                               std::chrono::microseconds(time.tv_usec));
}

}  // namespace

SupervisedProcess::SupervisedProcess(boost::asio::io_context& context, Console& console, std::string label,
                                     ChildOptions options, Launching launching, Callbacks callbacks,
                                     std::optional<RankTerminals> terminals)
    : console_(console),
      label_(std::move(label)),
      launching_(launching),
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
  if (launching_.is_launcher && launching_.patience.count() > 0) watch_launcher();
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
  launcher_timer_.expires_after(std::chrono::milliseconds(launching_.patience) / looks);
  launcher_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || end_) return;
    look_at_launcher();
    watch_launcher();
  });
}

/// Open MPI 4.1's mpirun can miss the signal that a rank has ended, or stand still at its own end, and then
/// waits for ever.
void SupervisedProcess::look_at_launcher() {
  const auto now = std::chrono::steady_clock::now();
  if (!is_mpirun(id_) || !runtime::is_launcher_done(id_))
    alone_since_.reset();
  else if (!alone_since_)
    alone_since_ = now;
  if (!alone_since_) {
    steps_taken_ = 0;
    return;
  }
  const auto passed = (now - *alone_since_) * looks / launching_.patience;
  if (steps_taken_ == 0 && passed >= looks_until_reminded) {
    ++steps_taken_;
    ::kill(id_, SIGCHLD);
  }
  if (steps_taken_ == 1 && passed >= looks_until_ended) {
    ++steps_taken_;
    console_.notice(
        label_ + ": all processes of its launcher have ended, and the launcher has not noticed: it is ended");
    signal_group(SIGTERM);
  }
  if (steps_taken_ == 2 && passed >= looks) signal_group(SIGKILL);
}

bool SupervisedProcess::has_open_outputs() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const auto& output) { return output->is_open(); });
}

void SupervisedProcess::reap() {
  int status = 0;
  rusage use{};
  if (end_ || ::wait4(id_, &status, WNOHANG, &use) != id_) return;
  end_ = end_of_process(status, launching_.is_launcher);
  end_->processor_time = time_of(use.ru_utime) + time_of(use.ru_stime);
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
  if (has_reported_end_ || waits_for_others()) return;
  has_reported_end_ = true;
  grace_.cancel();
  callbacks_.on_end();
}

bool SupervisedProcess::waits_for_others() {
  if (!callbacks_.goes_on || end_->failed()) return false;
  const bool is_last_time = std::chrono::steady_clock::now() >= exited_ + time_for_others;
  if (!callbacks_.goes_on(is_last_time) || is_last_time) return false;
  grace_.expires_after(between_looks);
  grace_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tell_end();
  });
  return true;
}

void SupervisedProcess::signal_group(int signal) const {
  ::kill(-id_, signal);
}

std::chrono::milliseconds SupervisedProcess::duration() const {
  const auto until = end_ ? exited_ : std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::milliseconds>(until - started_);
}

}  // namespace sluice::coordinator
