#pragma once
#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "matcher_launch.hpp"
#include "matcher_line.hpp"
#include "run_setting.hpp"
#include "supervised_process.hpp"

namespace sluice::coordinator {

/// The matcher of a run, one process or an MPI job, and the connection to it.
class MatcherProcess {
 public:
  /// Receives the matcher's events.
  class Listener : public MatcherLine::Listener {
   public:
    virtual void matcher_exited() = 0;
  };
  /// `setting` and `listener` outlive this object.
  MatcherProcess(RunSetting& setting, Listener& listener);

  /// Starts the matcher and sends the hello message. Throws IoError.
  void start();
  /// Kills the matcher. A launcher without ranks ends by itself, and removes its session's files.
  void kill();
  void kill_launcher();
  void reap();

  [[nodiscard]] const MatcherJobSize& size() const noexcept { return size_; }
  [[nodiscard]] const SpillChoice& spill() const noexcept { return spill_; }
  [[nodiscard]] bool is_started() const noexcept { return process_ != nullptr; }
  /// How the process has ended, or for a job, how the launcher has ended. Empty: it is still running.
  [[nodiscard]] std::optional<ProcessEnd> end() const;
  /// The matcher's processes on this machine.
  [[nodiscard]] std::vector<pid_t> processes() const;

  /// Sends over the connection; does nothing if there is no connection, or if it is lost.
  [[nodiscard]] bool is_line_lost() const noexcept { return line_ == nullptr || line_->is_lost(); }
  void tell_exit(const runtime::ComponentExited& exit);
  void tell_job(const runtime::JobNote& job);
  void watch(const runtime::WatchRequest& request, MatcherLine::ViewReceiver receiver);
  void shut_down();

 private:
  [[nodiscard]] ChildOptions alone();
  [[nodiscard]] ChildOptions job();
  void await_connection();
  void take_line(runtime::PacketSocket socket);

  RunSetting& setting_;
  Listener& listener_;
  MatcherJobSize size_;
  SpillChoice spill_;
  std::unique_ptr<SupervisedProcess> process_;
  std::unique_ptr<MatcherLine> line_;
  std::optional<runtime::PacketSocket>
      inherited_line_;                           ///< the matcher's end, until the matcher has received it
  runtime::FileDescriptor connection_listener_;  ///< for a job, until matcher 0 has connected
  boost::asio::posix::stream_descriptor connection_watch_;
};

}  // namespace sluice::coordinator
