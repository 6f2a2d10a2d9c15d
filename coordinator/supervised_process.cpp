#include "supervised_process.hpp"

#include <sys/wait.h>

#include <csignal>

namespace sluice::coordinator {
namespace {

/// How long output may still come after the process is gone.
constexpr std::chrono::seconds time_for_output{2};

}  // namespace

SupervisedProcess::SupervisedProcess(boost::asio::io_context& context, Console& console, std::string label,
                                     ChildOptions options, bool is_launcher, Callbacks callbacks)
    : label_(std::move(label)), is_launcher_(is_launcher), callbacks_(std::move(callbacks)), grace_(context) {
  Pipe output = make_pipe();
  Pipe error = make_pipe();
  options.output = output.write_end.number();
  options.error = error.write_end.number();
  id_ = start_child(options);
  const auto forward = [this, &context, &console](runtime::FileDescriptor pipe, Stream stream) {
    return std::make_unique<OutputForwarder>(
        context, std::move(pipe),
        [this, &console, stream](std::string_view line) { console.line(stream, label_, line); },
        [this] { pipe_closed(); });
  };
  output_ = forward(std::move(output.read_end), Stream::out);
  error_ = forward(std::move(error.read_end), Stream::error);
}

void SupervisedProcess::reap() {
  int status = 0;
  if (end_ || ::waitpid(id_, &status, WNOHANG) != id_) return;
  end_ = end_of_process(status, is_launcher_);
  exited_ = std::chrono::steady_clock::now();
  callbacks_.on_exit();
  if (!output_->is_open() && !error_->is_open()) return tell_end();
  grace_.expires_after(time_for_output);
  grace_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    output_->finish();
    error_->finish();
  });
}

void SupervisedProcess::pipe_closed() {
  if (end_ && !output_->is_open() && !error_->is_open()) tell_end();
}

void SupervisedProcess::tell_end() {
  if (told_end_) return;
  told_end_ = true;
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
