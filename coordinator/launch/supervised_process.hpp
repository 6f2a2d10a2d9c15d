#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "console.hpp"
#include "exit_status.hpp"
#include "output_forwarder.hpp"
#include "rank_terminals.hpp"

namespace sluice::coordinator {

/// A process that sluice has started, as the leader of its own process group. Its output goes to the console
/// line by line. Its end is reported once, after its last line. A launcher that does not notice the ends of
/// its processes is reminded, then ended.
class SupervisedProcess {
 public:
  struct Callbacks {
    std::function<void()> on_exit;  ///< the exit status has been collected
    std::function<void()> on_end;   ///< all output has arrived, or a short time has passed because another
                                    ///< process holds the pipes
    /// Whether the end is to be told later, because the process has left others behind that go on. Asked
    /// again and again for some seconds; `is_last_time`: the end is told all the same.
    std::function<bool(bool is_last_time)> goes_on = {};
  };
  struct Launching {
    bool is_launcher = false;
    /// How long all processes of a launcher may have ended without its notice; 0: as long as it likes.
    std::chrono::seconds patience{};
  };
  /// Starts the process; replaces `options.output` and `options.error`. Throws IoError. `terminals`: the
  /// terminals of its ranks, if they have any.
  SupervisedProcess(boost::asio::io_context& context, Console& console, std::string label,
                    ChildOptions options, Launching launching, Callbacks callbacks,
                    std::optional<RankTerminals> terminals = std::nullopt);

  /// Call this after SIGCHLD.
  void reap();
  /// Signals the whole group. Does nothing if the leader's exit status has been collected and the group is
  /// empty.
  void signal_group(int signal) const;

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  [[nodiscard]] bool is_launcher() const noexcept { return launching_.is_launcher; }
  [[nodiscard]] const std::optional<ProcessEnd>& end() const noexcept { return end_; }
  [[nodiscard]] bool has_ended() const noexcept { return has_reported_end_; }
  [[nodiscard]] std::chrono::milliseconds duration() const;
  [[nodiscard]] auto age() const { return std::chrono::steady_clock::now() - started_; }

 private:
  void forward(boost::asio::io_context& context, Console& console, Stream stream,
               runtime::FileDescriptor read_end);
  [[nodiscard]] bool has_open_outputs() const;
  void output_closed();
  void tell_end();
  [[nodiscard]] bool waits_for_others();
  void watch_launcher();
  void look_at_launcher();

  Console& console_;
  std::string label_;
  Launching launching_;
  Callbacks callbacks_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point exited_;
  pid_t id_ = 0;
  std::optional<ProcessEnd> end_;
  bool has_reported_end_ = false;
  std::vector<std::unique_ptr<OutputForwarder>> outputs_;
  std::vector<runtime::FileDescriptor> kept_open_;
  boost::asio::steady_timer grace_;
  boost::asio::steady_timer launcher_timer_;
  /// Since when all that the launcher has started has ended.
  std::optional<std::chrono::steady_clock::time_point> alone_since_;
  int steps_taken_ = 0;  ///< to end a launcher that does not notice that
};

}  // namespace sluice::coordinator
